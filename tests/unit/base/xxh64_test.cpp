#include "primus/base/xxh64.h"

#include <gtest/gtest.h>
#include <vector>

namespace primus {
namespace {

// Byte i is (131 i + 7) mod 256.
std::vector<std::byte> pattern(size_t num_bytes) {
  std::vector<std::byte> bytes(num_bytes);
  for (size_t i = 0; i < num_bytes; ++i) bytes[i] = static_cast<std::byte>((i * 131 + 7) % 256);
  return bytes;
}

struct Golden {
  size_t num_bytes;
  uint64_t seed_0;
  uint64_t seed_prime;  // seed 0x9E3779B1
};

// Made with the Python package xxhash 4.1.0 (library 0.8.4):
//   xxhash.xxh64(bytes((i * 131 + 7) % 256 for i in range(n)), seed=...).intdigest()
constexpr Golden kGolden[] = {
    {0, 0xef46db3751d8e999ULL, 0xac75fda2929b17efULL},   {1, 0xa96c7f0ce858bbb7ULL, 0x84e535b36672440dULL},
    {3, 0xbed43740ee6332bbULL, 0x00b77b485431ce5dULL},   {4, 0xfa212ae44b3bb23dULL, 0x60492c4bfcb70cacULL},
    {7, 0x2744460dd675d2c0ULL, 0xcdf83b729545b016ULL},   {8, 0x994b676b71ce94ddULL, 0xf424edebfea8d23fULL},
    {12, 0xb92f588ce720786eULL, 0xddd89bdbf8aa26e0ULL},  {31, 0x6711d55e306b5d8fULL, 0xfa1259cc8b20eb58ULL},
    {32, 0x07f7b8e3bc5d6e25ULL, 0x920f3e10a5db09c6ULL},  {33, 0x09f85eeb4e1cbe9fULL, 0x3d805e8712cb4890ULL},
    {63, 0xb7c9968c066cb6a5ULL, 0x184bc5097530bb9aULL},  {64, 0x50d4159a0411632eULL, 0x94667e10d68b3991ULL},
    {100, 0x9ddada11d3dc2d8fULL, 0x5766be6782b96389ULL}, {1000, 0x0bf0bdbcc82eb373ULL, 0xb43e358553049780ULL},
};

TEST(Xxh64, GivesTheValuesOfTheReferenceLibrary) {
  for (const Golden& golden : kGolden) {
    const std::vector<std::byte> bytes = pattern(golden.num_bytes);
    EXPECT_EQ(xxh64(bytes), golden.seed_0) << golden.num_bytes << " bytes";
    EXPECT_EQ(xxh64(bytes, 0x9E3779B1), golden.seed_prime) << golden.num_bytes << " bytes";
  }
}

TEST(Xxh64, DoesNotDependOnHowTheBytesAreCut) {
  const std::vector<std::byte> bytes = pattern(1000);
  for (size_t first = 0; first <= 70; ++first) {
    for (const size_t second : {size_t{1}, size_t{31}, size_t{32}, size_t{33}, size_t{97}}) {
      Xxh64 hash;
      const std::span<const std::byte> all(bytes);
      hash.update(all.first(first));
      hash.update(all.subspan(first, second));
      hash.update(all.subspan(first + second));
      EXPECT_EQ(hash.value(), 0x0bf0bdbcc82eb373ULL) << first << " + " << second;
    }
  }
}

TEST(Xxh64, GoesOnAfterItsValueWasAsked) {
  const std::vector<std::byte> bytes = pattern(100);
  Xxh64 hash;
  hash.update(std::span(bytes).first(33));
  EXPECT_EQ(hash.value(), 0x09f85eeb4e1cbe9fULL);
  hash.update(std::span(bytes).subspan(33));
  EXPECT_EQ(hash.value(), 0x9ddada11d3dc2d8fULL);
}

}  // namespace
}  // namespace primus
