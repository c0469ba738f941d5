#include "primus/dist/network_address.h"

#include <array>
#include <cstring>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include "primus/base/env.h"
#include "primus/base/error.h"

namespace primus::dist {

namespace {

std::string numeric(const sockaddr* address, socklen_t size) {
  std::array<char, NI_MAXHOST> text{};
  if (::getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0) return "";
  return text.data();
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

// Connecting a datagram socket sends nothing; it only makes the system choose a route.
std::string source_address(const addrinfo& target) {
  const int fd = ::socket(target.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return "";
  std::string result;
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (::connect(fd, target.ai_addr, target.ai_addrlen) == 0 &&
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) == 0) {
    result = numeric(reinterpret_cast<const sockaddr*>(&own), size);
  }
  ::close(fd);
  return result;
}

std::string first_interface_address() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return "";
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(all, &::freeifaddrs);
  for (const ifaddrs* entry = all; entry != nullptr; entry = entry->ifa_next) {
    const bool usable = entry->ifa_addr != nullptr && entry->ifa_addr->sa_family == AF_INET &&
                        (entry->ifa_flags & IFF_UP) != 0 && (entry->ifa_flags & IFF_LOOPBACK) == 0;
    if (usable) return numeric(entry->ifa_addr, sizeof(sockaddr_in));
  }
  return "";
}

}  // namespace

std::string own_address(const std::string& master_address) {
  if (const auto chosen = process_environment()("PRIMUS_NETWORK_ADDRESS"); chosen && !chosen->empty()) return *chosen;
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(master_address.c_str(), "1", &hints, &found); error != 0) {
    throw RunError(fmt::format("MASTER_ADDR {}: {}", master_address, ::gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  std::string address;
  for (const addrinfo* target = found; target != nullptr && address.empty(); target = target->ai_next)
    address = source_address(*target);
  if (is_loopback(address) && !is_loopback(master_address) && master_address != "localhost") {
    if (const std::string other = first_interface_address(); !other.empty()) return other;
  }
  return address.empty() ? master_address : address;
}

}  // namespace primus::dist
