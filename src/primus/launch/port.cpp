#include "primus/launch/port.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fmt/format.h>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace primus::launch {
namespace {

// Binds to all addresses; -1 with errno set when that fails. port 0: any. IPv4 only where the machine has no IPv6.
int bind_port(int port) {
  const int on = 1;
  const int off = 0;
  int fd = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int result = -1;
  if (fd >= 0) {
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_addr = in6addr_any;
    address.sin6_port = htons(static_cast<uint16_t>(port));
    result = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
    if (result == 0) return fd;
    const int reason = errno;
    ::close(fd);
    errno = reason;
    if (reason == EADDRINUSE || reason == EACCES) return -1;
  }
  fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(static_cast<uint16_t>(port));
  result = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
  if (result == 0) return fd;
  const int reason = errno;
  ::close(fd);
  errno = reason;
  return -1;
}

int port_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return address.ss_family == AF_INET6 ? ntohs(reinterpret_cast<sockaddr_in6*>(&address)->sin6_port)
                                       : ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

// A name in the abstract socket space: the system drops it when its holder ends, however it ends.
int take_name(int port) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const std::string name = fmt::format("primus-port-{}", port);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0) return fd;
  ::close(fd);
  return -1;
}

Diagnostic port_taken(int port, const std::string& found) {
  Diagnostic error = error_at({.file = "environment"}, fmt::format("port {} cannot be used", port));
  error.key = "MASTER_PORT";
  error.found = found;
  error.expected = "a free port from 1024 to 65535";
  error.suggestion = "unset MASTER_PORT and a free one is chosen, or give another";
  return error;
}

}  // namespace

Result<PortReservation> PortReservation::any_free() {
  constexpr int kAttempts = 64;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    PortReservation reservation;
    reservation.tcp_fd_ = bind_port(0);
    if (reservation.tcp_fd_ < 0) break;
    reservation.port_ = port_of(reservation.tcp_fd_);
    reservation.name_fd_ = take_name(reservation.port_);
    if (reservation.name_fd_ >= 0) return reservation;
  }
  return error_at({}, fmt::format("no free TCP port was found: {}", std::strerror(errno)));
}

Result<PortReservation> PortReservation::of(int port) {
  PortReservation reservation;
  reservation.port_ = port;
  reservation.name_fd_ = take_name(port);
  if (reservation.name_fd_ < 0) return port_taken(port, "another job on this machine has reserved it");
  reservation.tcp_fd_ = bind_port(port);
  if (reservation.tcp_fd_ < 0) {
    return port_taken(port, errno == EADDRINUSE ? "another program listens on it" : std::string(std::strerror(errno)));
  }
  return reservation;
}

PortReservation::PortReservation(PortReservation&& other) noexcept
    : port_(other.port_), tcp_fd_(std::exchange(other.tcp_fd_, -1)), name_fd_(std::exchange(other.name_fd_, -1)) {}

PortReservation::~PortReservation() {
  if (tcp_fd_ >= 0) ::close(tcp_fd_);
  if (name_fd_ >= 0) ::close(name_fd_);
}

}  // namespace primus::launch
