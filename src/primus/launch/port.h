// A port for the meeting of the ranks that nobody else gets between the moment it is chosen and the end of the job.
#pragma once

#include "primus/base/result.h"

namespace primus::launch {

// Holds two things while it lives: a TCP socket that is bound but does not listen (the system then gives the port to
// nobody who asks for "any", while rank 0, which sets SO_REUSEADDR as c10d does, can still listen on it), and a local
// socket name that keeps a second Primus job from reserving the same port.
class PortReservation {
 public:
  static Result<PortReservation> any_free();
  // Errors: the port is taken, by a listener or by another job of this program.
  static Result<PortReservation> of(int port);

  PortReservation(PortReservation&& other) noexcept;
  PortReservation& operator=(PortReservation&&) = delete;
  ~PortReservation();

  int port() const { return port_; }

 private:
  PortReservation() = default;
  int port_ = 0;
  int tcp_fd_ = -1;
  int name_fd_ = -1;
};

}  // namespace primus::launch
