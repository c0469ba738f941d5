// Hashes: SHA-256 for identities that are written to disk, a fast 64-bit one for random-stream keys and caches.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace primus {

// Lower-case hex of FIPS 180-4 SHA-256.
std::string sha256_hex(std::string_view data);
// FNV-1a, 64 bit: stable over platforms and versions; not for untrusted keys.
uint64_t fnv1a64(std::string_view data);
// CRC-32C (Castagnoli): "123456789" -> 0xE3069283.
uint32_t crc32c(std::string_view data);

}  // namespace primus
