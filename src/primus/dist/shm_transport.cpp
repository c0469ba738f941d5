#include "primus/dist/shm_transport.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

#include "primus/base/error.h"

namespace primus::dist {

namespace {

class ShmTransport : public Transport {
 public:
  ShmTransport(std::shared_ptr<ShmSegment> segment, int rank, int num_ranks)
      : segment_(std::move(segment)), rank_(rank), num_ranks_(num_ranks) {}

  void announce(const Operation& operation) override;
  void all_reduce(Reduction reduction, ElementType type, std::byte* data, int64_t num_elements) override;
  void broadcast(std::span<std::byte> data, int root) override;
  void all_gather(const std::vector<std::span<std::byte>>& parts) override;

 private:
  std::byte* buffer(int rank) { return segment_->buffer(rank, round_); }
  // Tells that the own buffer of this round is filled, and waits for the others'.
  void exchange() {
    segment_->rank(rank_).filled.set(round_);
    wait_for_all(&SharedRank::filled);
  }
  void wait_for_all(SharedCounter SharedRank::* counter);
  void look_for_lost_peers(int awaited);
  void reduce_round(Reduction reduction, ElementType type, std::byte* data, int64_t num_elements);

  std::shared_ptr<ShmSegment> segment_;
  int rank_, num_ranks_;
  uint32_t round_ = 0;
};

void ShmTransport::wait_for_all(SharedCounter SharedRank::* counter) {
  for (int peer = 0; peer < num_ranks_; ++peer) {
    if (peer == rank_) continue;
    SharedCounter& theirs = segment_->rank(peer).*counter;
    while (!theirs.wait_briefly(round_)) {
      look_for_lost_peers(peer);
    }
  }
}

void ShmTransport::look_for_lost_peers(int awaited) {
  for (int peer = 0; peer < num_ranks_; ++peer) {
    if (peer == rank_) continue;
    SharedRank& other = segment_->rank(peer);
    const bool left = other.status.left.load() != 0;
    const bool gone = segment_->unclaimed(peer);
    // It may have done its part of this round before it left.
    if (other.filled.reached(round_) && other.reduced.reached(round_)) continue;
    if (gone && !left) throw RunError(fmt::format("lost peer rank {}: its process has ended", peer));
    if (left && peer == awaited) throw RunError(fmt::format("lost peer rank {}: it has left the group", peer));
  }
}

void ShmTransport::announce(const Operation& operation) {
  char* const text = segment_->rank(rank_).announced[operation.sequence % 2];
  std::strncpy(text, operation.text.c_str(), kOperationTextBytes - 1);
  ++round_;
  segment_->rank(rank_).reduced.set(round_);
  exchange();
  for (int peer = 0; peer < num_ranks_; ++peer) {
    const char* const theirs = segment_->rank(peer).announced[operation.sequence % 2];
    if (std::strncmp(theirs, text, kOperationTextBytes) != 0) {
      fail_on_mismatch(rank_, operation.text, peer, theirs, operation.sequence);
    }
  }
}

void ShmTransport::all_reduce(Reduction reduction, ElementType type, std::byte* data, int64_t num_elements) {
  const int64_t bytes = element_bytes(type);
  const int64_t round_elements = ShmSegment::buffer_bytes() / bytes;
  for (int64_t begin = 0; begin < num_elements; begin += round_elements) {
    reduce_round(reduction, type, data + begin * bytes, std::min(round_elements, num_elements - begin));
  }
}

void ShmTransport::reduce_round(Reduction reduction, ElementType type, std::byte* data, int64_t num_elements) {
  const int64_t bytes = element_bytes(type);
  const auto slice_begin = [&](int rank) { return num_elements * rank / num_ranks_ * bytes; };
  ++round_;
  const int64_t own_begin = slice_begin(rank_);
  const int64_t own_end = slice_begin(rank_ + 1);
  // The others combine everything but the own slice.
  std::memcpy(buffer(rank_), data, static_cast<size_t>(own_begin));
  std::memcpy(buffer(rank_) + own_end, data + own_end, static_cast<size_t>(num_elements * bytes - own_end));
  exchange();
  std::vector<const std::byte*> inputs;
  for (int peer = 0; peer < num_ranks_; ++peer) inputs.push_back((peer == rank_ ? data : buffer(peer)) + own_begin);
  tree_reduce(reduction, type, inputs, buffer(rank_) + own_begin, (own_end - own_begin) / bytes);
  segment_->rank(rank_).reduced.set(round_);
  std::memcpy(data + own_begin, buffer(rank_) + own_begin, static_cast<size_t>(own_end - own_begin));
  wait_for_all(&SharedRank::reduced);
  for (int peer = 0; peer < num_ranks_; ++peer) {
    if (peer == rank_) continue;
    const int64_t begin = slice_begin(peer);
    std::memcpy(data + begin, buffer(peer) + begin, static_cast<size_t>(slice_begin(peer + 1) - begin));
  }
}

void ShmTransport::broadcast(std::span<std::byte> data, int root) {
  const auto round_bytes = static_cast<size_t>(ShmSegment::buffer_bytes());
  for (size_t begin = 0; begin < data.size(); begin += round_bytes) {
    const std::span<std::byte> piece = data.subspan(begin, std::min(round_bytes, data.size() - begin));
    ++round_;
    if (rank_ == root) std::memcpy(buffer(rank_), piece.data(), piece.size());
    segment_->rank(rank_).reduced.set(round_);
    exchange();
    if (rank_ != root) std::memcpy(piece.data(), buffer(root), piece.size());
  }
}

void ShmTransport::all_gather(const std::vector<std::span<std::byte>>& parts) {
  const auto round_bytes = static_cast<size_t>(ShmSegment::buffer_bytes());
  size_t longest = 0;
  for (const auto& part : parts) longest = std::max(longest, part.size());
  for (size_t begin = 0; begin < longest; begin += round_bytes) {
    const auto piece = [&](int rank) {
      const std::span<std::byte> part = parts[static_cast<size_t>(rank)];
      const size_t from = std::min(begin, part.size());
      return part.subspan(from, std::min(round_bytes, part.size() - from));
    };
    ++round_;
    if (!piece(rank_).empty()) std::memcpy(buffer(rank_), piece(rank_).data(), piece(rank_).size());
    segment_->rank(rank_).reduced.set(round_);
    exchange();
    for (int peer = 0; peer < num_ranks_; ++peer) {
      if (peer != rank_ && !piece(peer).empty()) std::memcpy(piece(peer).data(), buffer(peer), piece(peer).size());
    }
  }
}

class ShmStatusBoard : public StatusBoard {
 public:
  ShmStatusBoard(std::shared_ptr<ShmSegment> segment, int rank, int num_ranks)
      : segment_(std::move(segment)), rank_(rank), num_ranks_(num_ranks) {}

  void publish(const RankStatus& own) override {
    SharedStatus& shared = segment_->rank(rank_).status;
    shared.version.fetch_add(1);
    shared.num_beats = own.num_beats;
    shared.step = own.step;
    shared.sequence = own.sequence;
    shared.waiting = own.waiting;
    shared.left = own.left;
    for (size_t i = 0; i < kOperationTextBytes; ++i) {
      shared.operation[i] = i < own.operation.size() && i + 1 < kOperationTextBytes ? own.operation[i] : '\0';
    }
    shared.version.fetch_add(1);
  }

  std::optional<RankStatus> read(int rank) override {
    SharedStatus& shared = segment_->rank(rank).status;
    RankStatus status;
    // A rank that was stopped while it wrote leaves an odd version for ever: take what is there after some tries.
    for (int attempt = 0; attempt < 100; ++attempt) {
      const uint32_t version = shared.version;
      status = {.num_beats = shared.num_beats,
                .step = shared.step,
                .sequence = shared.sequence,
                .waiting = shared.waiting != 0,
                .left = shared.left != 0};
      for (size_t i = 0; i < kOperationTextBytes && shared.operation[i] != '\0'; ++i)
        status.operation += shared.operation[i];
      if (version % 2 == 0 && shared.version == version) break;
    }
    return status;
  }

  int keeper() const override { return -1; }

  bool ended(int rank) override { return segment_->unclaimed(rank); }

  std::vector<int> watched() const override {
    std::vector<int> ranks;
    for (int rank = 0; rank < num_ranks_; ++rank) {
      if (rank != rank_) ranks.push_back(rank);
    }
    return ranks;
  }

 private:
  std::shared_ptr<ShmSegment> segment_;
  int rank_, num_ranks_;
};

}  // namespace

std::unique_ptr<Transport> shm_transport(std::shared_ptr<ShmSegment> segment, int rank, int num_ranks) {
  return std::make_unique<ShmTransport>(std::move(segment), rank, num_ranks);
}

std::unique_ptr<StatusBoard> shm_status_board(std::shared_ptr<ShmSegment> segment, int rank, int num_ranks) {
  return std::make_unique<ShmStatusBoard>(std::move(segment), rank, num_ranks);
}

}  // namespace primus::dist
