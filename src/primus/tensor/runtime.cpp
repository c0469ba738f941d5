#include "primus/tensor/runtime.h"

#include <ATen/Version.h>
#include <cstdlib>
#include <dlfcn.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <fstream>
#include <torch/headeronly/version.h>

namespace primus::tensor {
namespace {

std::string cpu_model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t colon = line.find(':');
    if (colon != std::string::npos && colon + 2 <= line.size()) return line.substr(colon + 2);
  }
  return "unknown CPU";
}

// "Intel(R) oneAPI Math Kernel Library Version 2024.2-Product ..." -> "2024.2": the first word that starts with a digit
// or 'v'.
std::string version_number(const std::string& text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const bool at_word = i == 0 || text[i - 1] == ' ' || text[i - 1] == 'v';
    if (!at_word || !isdigit(static_cast<unsigned char>(text[i]))) continue;
    const size_t end = text.find_first_not_of("0123456789.", i);
    return text.substr(i, end == std::string::npos ? end : end - i);
  }
  return "absent";
}

}  // namespace

std::string CpuFeatures::to_string() const {
  std::string text;
  if (avx2_fma) text += "avx2 ";
  if (avx512) text += "avx512 ";
  if (avx512_bf16) text += "avx512_bf16 ";
  if (text.empty()) return "none";
  text.pop_back();
  return text;
}

namespace {

// Not "never", and a kernel that knows them: elsewhere libtorch's request would fail, and it would say so.
bool kernel_gives_huge_pages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string choice;
  return std::getline(file, choice) &&
         (choice.find("[madvise]") != std::string::npos || choice.find("[always]") != std::string::npos);
}

CpuFeatures detect_features() {
  CpuFeatures features;
  features.model = cpu_model_name();
#if defined(__x86_64__)
  __builtin_cpu_init();
  features.avx2_fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  features.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  features.avx512_bf16 = features.avx512 && __builtin_cpu_supports("avx512bf16");
#endif
  return features;
}

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect_features();
  return features;
}

void configure_allocator() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);         // large blocks come from the heap, where they are found again
  mallopt(M_TRIM_THRESHOLD, -1);  // and never go back to the kernel
  mallopt(M_TOP_PAD, 64 << 20);
#endif
#ifdef __linux__
  // libtorch reads this with its first tensor: blocks of 2 MB and more then start at a huge page and ask for them.
  if (kernel_gives_huge_pages()) ::setenv("THP_MEM_ALLOC_ENABLE", "1", /*overwrite=*/0);
#endif
}

void set_num_threads(int num_threads) {
  at::set_num_threads(std::max(1, num_threads));
}

int num_threads() {
  return at::get_num_threads();
}

bool mkl_switch_is_on() {
  using Question = int (*)();
  const auto question = reinterpret_cast<Question>(dlsym(RTLD_DEFAULT, "mkl_serv_intel_cpu_true"));
  return question != nullptr && question() != 0;
}

std::string versions() {
  std::string text = "torch " TORCH_VERSION;
  text += ", MKL ";
  text += version_number(at::get_mkl_version());
  text += ", oneDNN ";
  text += version_number(at::get_mkldnn_version());
  text += mkl_switch_is_on() ? ", mkl_switch on" : ", mkl_switch off";
  return text;
}

}  // namespace primus::tensor
