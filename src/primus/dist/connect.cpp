#include "primus/dist/connect.h"

#include <csignal>
#include <ctime>
#include <fmt/format.h>
#include <random>

#include "primus/base/env.h"
#include "primus/base/error.h"
#include "primus/base/strings.h"
#include "primus/dist/gloo_transport.h"
#include "primus/dist/meeting.h"
#include "primus/dist/shm_transport.h"
#include "primus/dist/threaded_group.h"

namespace primus::dist {

namespace {

Diagnostic bad_variable(const std::string& name, const std::string& found, const std::string& expected) {
  Diagnostic error = error_at({.file = "environment"}, name + " makes no sense");
  error.key = name;
  error.found = found;
  error.expected = expected;
  error.suggestion = "unset it, or give one of these";
  return error;
}

void read_seconds(const Environment& environment, const std::string& name, double& seconds, Diagnostics& findings) {
  const auto text = environment(name);
  if (!text || text->empty()) return;
  const std::optional<double> value = parse_double(*text);
  if (!value || !(*value > 0)) {
    findings.push_back(bad_variable(name, *text, "a number of seconds above 0"));
  } else {
    seconds = *value;
  }
}

Endpoint with_environment(Endpoint endpoint) {
  const Environment environment = process_environment();
  Diagnostics findings;
  read_seconds(environment, "PRIMUS_HEARTBEAT_SECONDS", endpoint.heartbeat_seconds, findings);
  read_seconds(environment, "PRIMUS_STARTUP_SECONDS", endpoint.startup_seconds, findings);
  const std::string backend = environment("PRIMUS_DIST_BACKEND").value_or("");
  if (backend == "gloo") {
    endpoint.backend = Backend::Gloo;
  } else if (backend == "shm") {
    endpoint.backend = Backend::SharedMemory;
  } else if (!backend.empty()) {
    findings.push_back(bad_variable("PRIMUS_DIST_BACKEND", backend, "shm (one machine) or gloo"));
  }
  const bool one_machine = endpoint.local_world_size == endpoint.world_size;
  if (endpoint.backend == Backend::SharedMemory && !one_machine) {
    findings.push_back(bad_variable("PRIMUS_DIST_BACKEND", "shm with ranks on several machines", "gloo"));
  }
  if (endpoint.backend == Backend::Auto) endpoint.backend = one_machine ? Backend::SharedMemory : Backend::Gloo;
  if (!findings.empty()) throw InputError(findings);
  return endpoint;
}

// Gloo and the store write to connections that a dead peer may have closed. The signal of such a write would end this
// process before it could say which rank is lost; blocked, the write only fails. All threads that write are started
// while this lives, and a thread inherits what is blocked.
class BlockedPipeSignal {
 public:
  BlockedPipeSignal() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~BlockedPipeSignal() {
    const timespec at_once{};
    if (::sigismember(&before_, SIGPIPE) == 0) ::sigtimedwait(&pipe_, nullptr, &at_once);  // what came is not delivered
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  BlockedPipeSignal(const BlockedPipeSignal&) = delete;
  BlockedPipeSignal& operator=(const BlockedPipeSignal&) = delete;

 private:
  sigset_t pipe_{}, before_{};
};

std::string new_session() {
  std::random_device source;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", source(), source(), source(), source());
}

std::shared_ptr<ShmSegment> meet_in_memory(Meeting& meeting, const Endpoint& endpoint) {
  std::shared_ptr<ShmSegment> segment;
  const std::string mapped = "mapped/";
  std::string error;
  if (endpoint.rank == 0) {
    const std::string session = new_session();
    segment = ShmSegment::create(endpoint.world_size, session);
    meeting.set("segment", session + " " + segment->address());
  } else {
    const std::string place = meeting.get("segment");
    const size_t middle = place.find(' ');
    try {
      segment = ShmSegment::open(place.substr(middle + 1), endpoint.world_size, place.substr(0, middle));
    } catch (const RunError& reason) {
      error = fmt::format("rank {}: {}", endpoint.rank, reason.what());
    }
  }
  if (segment) segment->claim(endpoint.rank);
  meeting.set(mapped + std::to_string(endpoint.rank), error);
  for (int rank = 0; rank < endpoint.world_size; ++rank) {
    const std::string theirs = meeting.get(mapped + std::to_string(rank));
    if (error.empty()) error = theirs;
  }
  if (!error.empty()) throw RunError(error);
  return segment;
}

}  // namespace

std::unique_ptr<Group> connect(const Endpoint& given) {
  const Endpoint endpoint = with_environment(given);
  if (endpoint.world_size == 1) return single_rank_group("world");
  const BlockedPipeSignal blocked;
  const WatchdogLimits limits{.heartbeat_seconds = endpoint.heartbeat_seconds,
                              .compare_seconds = std::min(10.0, endpoint.heartbeat_seconds / 3),
                              .operation_seconds = endpoint.timeout_minutes * 60};
  auto meeting = std::make_unique<Meeting>(endpoint);
  if (endpoint.backend == Backend::Gloo) {
    auto transport = gloo_transport(*meeting);
    auto board = store_status_board(*meeting);
    std::unique_ptr<Group> group =
        threaded_group("world", endpoint.rank, endpoint.world_size, std::move(transport), std::move(board), limits);
    group->barrier();
    return group;
  }
  const std::shared_ptr<ShmSegment> segment = meet_in_memory(*meeting, endpoint);
  std::unique_ptr<Group> group = threaded_group("world", endpoint.rank, endpoint.world_size,
                                                shm_transport(segment, endpoint.rank, endpoint.world_size),
                                                shm_status_board(segment, endpoint.rank, endpoint.world_size), limits);
  group->barrier();  // after it nobody needs the store
  if (endpoint.rank == 0) {
    // The others let go first: a client whose server ends says so on the console.
    group->barrier();
    meeting.reset();
  } else {
    meeting.reset();
    group->barrier();
  }
  return group;
}

}  // namespace primus::dist
