// XXH64, the 64-bit checksum of files that we write: over 8 GB/s on one core, portable, and checkable by `xxhsum -H64`.
// Source: the xxHash specification (github.com/Cyan4973/xxHash, doc/xxhash_spec.md), section "XXH64 algorithm".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace primus {

class Xxh64 {
 public:
  explicit Xxh64(uint64_t seed = 0);

  // Takes the next piece; the result does not depend on how the bytes are cut.
  void update(std::span<const std::byte> bytes);
  // The checksum of everything so far; more updates may follow.
  uint64_t value() const;

 private:
  std::array<uint64_t, 4> lanes_;
  std::array<std::byte, 32> rest_{};  // the bytes after the last whole block of 32
  size_t num_rest_ = 0;
  uint64_t num_bytes_ = 0;
  uint64_t seed_;
};

uint64_t xxh64(std::span<const std::byte> bytes, uint64_t seed = 0);

}  // namespace primus
