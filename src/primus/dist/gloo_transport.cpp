#include "primus/dist/gloo_transport.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "primus/base/error.h"
#include "primus/base/strings.h"
#include "primus/dist/meeting_store.h"
#include "primus/dist/network_address.h"

namespace primus::dist {

namespace {

using Bytes = std::span<std::byte>;

constexpr int64_t kChunkBytes = int64_t{16} << 20;
constexpr size_t kAnnouncementBytes = 192;
constexpr double kSecondsAfterWatchdog = 15;  // the watchdog, which knows more, speaks first

c10::intrusive_ptr<c10d::ProcessGroupGloo> open_gloo(const Meeting::Store& store) {
  const Endpoint& endpoint = store.endpoint;
  const double timeout_s = endpoint.timeout_minutes * 60 + kSecondsAfterWatchdog;
  auto options =
      c10d::ProcessGroupGloo::Options::create(std::chrono::milliseconds(static_cast<int64_t>(timeout_s * 1e3)));
  options->threads = 1;
  const std::string address = own_address(endpoint.master_address);
  try {
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(address));
    return c10::make_intrusive<c10d::ProcessGroupGloo>(c10::make_intrusive<c10d::PrefixStore>("gloo/", store.tcp),
                                                       endpoint.rank, endpoint.world_size, options);
  } catch (const std::exception& error) {
    throw RunError(fmt::format(
        "rank {}: no connection to the other ranks from address {}: {} (PRIMUS_NETWORK_ADDRESS chooses another)",
        endpoint.rank, address, first_ascii_line(error.what())));
  }
}

class GlooTransport : public Transport {
 public:
  explicit GlooTransport(const Meeting::Store& store)
      : rank_(store.endpoint.rank), num_ranks_(store.endpoint.world_size), gloo_(open_gloo(store)) {}

  void announce(const Operation& operation) override;
  void all_reduce(Reduction reduction, ElementType type, std::byte* data, int64_t num_elements) override;
  void broadcast(Bytes data, int root) override;
  void all_gather(const std::vector<Bytes>& parts) override {
    exchange(std::vector<Bytes>(parts.size(), parts[own()]), parts);
  }

 private:
  size_t own() const { return static_cast<size_t>(rank_); }
  // Sends outgoing[r] to rank r and fills incoming[r] from it. The own entries and empty ones are left out.
  void exchange(const std::vector<Bytes>& outgoing, const std::vector<Bytes>& incoming);
  void reduce_chunk(Reduction reduction, ElementType type, std::byte* data, int64_t num_elements);

  int rank_, num_ranks_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo_;
  std::vector<std::byte> received_;
};

void GlooTransport::exchange(const std::vector<Bytes>& outgoing, const std::vector<Bytes>& incoming) {
  struct Pending {
    int peer;
    at::Tensor bytes;
    c10::intrusive_ptr<c10d::Work> work;
  };
  std::vector<Pending> pending;
  int peer = 0;
  try {
    // Each rank begins with its right neighbour, so that not all send to rank 0 first.
    for (int i = 1; i < num_ranks_; ++i) {
      const auto start = [&](Bytes bytes, bool send) {
        if (bytes.empty()) return;
        std::vector<at::Tensor> tensors{at::from_blob(bytes.data(), {static_cast<int64_t>(bytes.size())}, at::kByte)};
        auto work = send ? gloo_->send(tensors, peer, 0) : gloo_->recv(tensors, peer, 0);
        pending.push_back({peer, tensors.front(), std::move(work)});
      };
      peer = (rank_ + num_ranks_ - i) % num_ranks_;
      start(incoming[static_cast<size_t>(peer)], false);
      peer = (rank_ + i) % num_ranks_;
      start(outgoing[static_cast<size_t>(peer)], true);
    }
    for (Pending& message : pending) {
      peer = message.peer;
      message.work->wait();
    }
  } catch (const std::exception& error) {
    throw RunError(fmt::format("lost peer rank {}: {}", peer, first_ascii_line(error.what())));
  }
}

void GlooTransport::announce(const Operation& operation) {
  using Announcement = std::array<char, kAnnouncementBytes>;
  std::vector<Announcement> announced(static_cast<size_t>(num_ranks_), Announcement{});
  std::strncpy(announced[own()].data(), operation.text.c_str(), kAnnouncementBytes - 1);
  std::vector<Bytes> parts;
  for (Announcement& text : announced) parts.push_back(std::as_writable_bytes(std::span(text)));
  all_gather(parts);
  for (int peer = 0; peer < num_ranks_; ++peer) {
    const Announcement& theirs = announced[static_cast<size_t>(peer)];
    if (theirs != announced[own()]) fail_on_mismatch(rank_, operation.text, peer, theirs.data(), operation.sequence);
  }
}

void GlooTransport::all_reduce(Reduction reduction, ElementType type, std::byte* data, int64_t num_elements) {
  const int64_t bytes = element_bytes(type);
  const int64_t chunk_elements = kChunkBytes / bytes;
  for (int64_t begin = 0; begin < num_elements; begin += chunk_elements) {
    reduce_chunk(reduction, type, data + begin * bytes, std::min(chunk_elements, num_elements - begin));
  }
}

// Rank r gets slice r from everybody, adds them up as the tree says, and gives the sum to everybody.
void GlooTransport::reduce_chunk(Reduction reduction, ElementType type, std::byte* data, int64_t num_elements) {
  const int64_t bytes = element_bytes(type);
  std::vector<Bytes> slices, from_peers;
  std::vector<const std::byte*> inputs;
  const auto slice_begin = [&](int64_t rank) { return num_elements * rank / num_ranks_ * bytes; };
  for (int peer = 0; peer < num_ranks_; ++peer) {
    slices.emplace_back(data + slice_begin(peer), static_cast<size_t>(slice_begin(peer + 1) - slice_begin(peer)));
  }
  const size_t own_bytes = slices[own()].size();
  received_.resize(static_cast<size_t>(num_ranks_) * own_bytes);
  for (size_t peer = 0; peer < slices.size(); ++peer) {
    from_peers.emplace_back(received_.data() + peer * own_bytes, own_bytes);
    inputs.push_back(peer == own() ? slices[peer].data() : from_peers[peer].data());
  }
  exchange(slices, from_peers);
  tree_reduce(reduction, type, inputs, slices[own()].data(), static_cast<int64_t>(own_bytes) / bytes);
  all_gather(slices);
}

void GlooTransport::broadcast(Bytes data, int root) {
  std::vector<Bytes> outgoing(static_cast<size_t>(num_ranks_)), incoming(static_cast<size_t>(num_ranks_));
  if (rank_ == root) {
    outgoing.assign(outgoing.size(), data);
  } else {
    incoming[static_cast<size_t>(root)] = data;
  }
  exchange(outgoing, incoming);
}

}  // namespace

std::unique_ptr<Transport> gloo_transport(const Meeting& meeting) {
  return std::make_unique<GlooTransport>(*meeting.store());
}

}  // namespace primus::dist
