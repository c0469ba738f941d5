// Every test of the element-wise kernels once more in a process that is told to use the portable compilation.
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>

namespace {

TEST(PortableKernels, PassTheSameTests) {
  if (std::getenv("PRIMUS_PORTABLE_KERNELS") != nullptr) GTEST_SKIP() << "this is the portable process";
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = "PRIMUS_PORTABLE_KERNELS=1 '" + self +
                              "' --gtest_brief=1 "
                              "--gtest_filter='*Norm*:Activation*:Rope*:Embedding*:Cast*:AdamW*:Sgd*:Philox*:Dropout*:"
                              "ColumnSum*:*CrossEntropy*'";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
