#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "primus/base/error.h"
#include "primus/base/strings.h"
#include "primus/dist/meeting_store.h"

namespace primus::dist {

namespace {

using Clock = std::chrono::steady_clock;

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1e3));
}

std::string here_key(int rank) {
  return fmt::format("here/{}", rank);
}

c10::intrusive_ptr<c10d::TCPStore> open_store(const Endpoint& endpoint) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(endpoint.master_port);
  options.isServer = endpoint.rank == 0;
  options.numWorkers = static_cast<size_t>(endpoint.world_size);
  options.waitWorkers = false;  // so that the missing ones can be named
  options.timeout = milliseconds(endpoint.startup_seconds);
  // c10d looks up the name of every address that it connects to or accepts, on the server's only thread. Where the name
  // server does not answer, that would stop all ranks for 5 s or more each time.
  ::setenv("RES_OPTIONS", "timeout:1 attempts:2", /*overwrite=*/0);
  try {
    return c10::make_intrusive<c10d::TCPStore>(endpoint.master_address, options);
  } catch (const std::exception& error) {
    if (endpoint.rank == 0) {
      throw RunError(fmt::format("rank 0 cannot listen on port {}: {}; give another MASTER_PORT", endpoint.master_port,
                                 first_ascii_line(error.what())));
    }
    throw RunError(fmt::format("rank {}: rank 0 did not answer on {}:{} within {:.0f} s: {}", endpoint.rank,
                               endpoint.master_address, endpoint.master_port, endpoint.startup_seconds,
                               first_ascii_line(error.what())));
  }
}

}  // namespace

Meeting::Meeting(const Endpoint& endpoint) : store_(std::make_shared<Store>(Store{endpoint, open_store(endpoint)})) {
  const Clock::time_point limit = Clock::now() + milliseconds(endpoint.startup_seconds);
  set(here_key(endpoint.rank), "1");
  for (int rank = 0; rank < endpoint.world_size; ++rank) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(limit - Clock::now());
    try {
      store_->tcp->wait({here_key(rank)}, std::max(left, std::chrono::milliseconds(1)));
    } catch (const std::exception& error) {
      std::vector<int> missing;
      for (int other = rank; other < endpoint.world_size; ++other) {
        try {
          if (!store_->tcp->check({here_key(other)})) missing.push_back(other);
        } catch (const std::exception&) {
          throw RunError("lost peer rank 0 while the ranks met: " + first_ascii_line(error.what()));
        }
      }
      if (missing.empty()) continue;
      throw RunError(fmt::format("rank {}: of {} ranks, these did not come to {}:{} within {:.0f} s: {}", endpoint.rank,
                                 endpoint.world_size, endpoint.master_address, endpoint.master_port,
                                 endpoint.startup_seconds, fmt::join(missing, ", ")));
    }
  }
}

Meeting::~Meeting() = default;

void Meeting::set(const std::string& key, const std::string& value) {
  try {
    store_->tcp->c10d::Store::set(key, value);
  } catch (const std::exception& error) {
    throw RunError("lost peer rank 0 while the ranks met: " + first_ascii_line(error.what()));
  }
}

std::string Meeting::get(const std::string& key) {
  try {
    return store_->tcp->get_to_str(key);
  } catch (const std::exception& error) {
    throw RunError(fmt::format("lost peer while the ranks met ({}): {}", key, first_ascii_line(error.what())));
  }
}

}  // namespace primus::dist
