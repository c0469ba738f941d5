#include "primus/base/xxh64.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace primus {

namespace {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87ULL;
constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4FULL;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9ULL;
constexpr uint64_t kPrime4 = 0x85EBCA77C2B2AE63ULL;
constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5ULL;
constexpr size_t kBlockBytes = 32;

static_assert(std::endian::native == std::endian::little, "words are read as they lie in memory");

template <class Word>
uint64_t read(const std::byte* bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

uint64_t round(uint64_t lane, uint64_t input) {
  return std::rotl(lane + input * kPrime2, 31) * kPrime1;
}

uint64_t merge(uint64_t hash, uint64_t lane) {
  return (hash ^ round(0, lane)) * kPrime1 + kPrime4;
}

uint64_t avalanche(uint64_t hash) {
  hash = (hash ^ hash >> 33) * kPrime2;
  hash = (hash ^ hash >> 29) * kPrime3;
  return hash ^ hash >> 32;
}

// The lanes live in registers for the whole run of blocks: that is where the speed comes from.
const std::byte* eat_blocks(std::array<uint64_t, 4>& lanes, const std::byte* next, size_t num_blocks) {
  auto [a, b, c, d] = lanes;
  for (; num_blocks > 0; --num_blocks, next += kBlockBytes) {
    a = round(a, read<uint64_t>(next));
    b = round(b, read<uint64_t>(next + 8));
    c = round(c, read<uint64_t>(next + 16));
    d = round(d, read<uint64_t>(next + 24));
  }
  lanes = {a, b, c, d};
  return next;
}

}  // namespace

Xxh64::Xxh64(uint64_t seed) : lanes_{seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1}, seed_(seed) {}

void Xxh64::update(std::span<const std::byte> bytes) {
  num_bytes_ += bytes.size();
  if (num_rest_ > 0) {
    const size_t taken = std::min(bytes.size(), kBlockBytes - num_rest_);
    std::copy_n(bytes.data(), taken, rest_.data() + num_rest_);
    num_rest_ += taken;
    bytes = bytes.subspan(taken);
    if (num_rest_ < kBlockBytes) return;
    eat_blocks(lanes_, rest_.data(), 1);
    num_rest_ = 0;
  }
  const std::byte* next = eat_blocks(lanes_, bytes.data(), bytes.size() / kBlockBytes);
  num_rest_ = bytes.size() % kBlockBytes;
  std::copy_n(next, num_rest_, rest_.data());
}

uint64_t Xxh64::value() const {
  uint64_t hash = seed_ + kPrime5;
  if (num_bytes_ >= kBlockBytes) {
    const auto [a, b, c, d] = lanes_;
    hash = std::rotl(a, 1) + std::rotl(b, 7) + std::rotl(c, 12) + std::rotl(d, 18);
    for (const uint64_t lane : lanes_) hash = merge(hash, lane);
  }
  hash += num_bytes_;
  const std::byte* next = rest_.data();
  size_t left = num_rest_;
  for (; left >= 8; left -= 8, next += 8)
    hash = std::rotl(hash ^ round(0, read<uint64_t>(next)), 27) * kPrime1 + kPrime4;
  if (left >= 4) {
    hash = std::rotl(hash ^ read<uint32_t>(next) * kPrime1, 23) * kPrime2 + kPrime3;
    left -= 4;
    next += 4;
  }
  for (; left > 0; --left, ++next) hash = std::rotl(hash ^ std::to_integer<uint64_t>(*next) * kPrime5, 11) * kPrime1;
  return avalanche(hash);
}

uint64_t xxh64(std::span<const std::byte> bytes, uint64_t seed) {
  Xxh64 hash(seed);
  hash.update(bytes);
  return hash.value();
}

}  // namespace primus
