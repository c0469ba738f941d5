#include "primus/tokenizer/merge_table.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <queue>

namespace primus::tokenizer {

namespace {

constexpr size_t kShortWord = 48;  // up to here a scan for the lowest rank beats a heap
constexpr uint32_t kNoRank = std::numeric_limits<uint32_t>::max();

void merge_short(const MergeTable& table, std::vector<int32_t>& symbols) {
  Merge pairs[kShortWord];
  const auto look_up = [&](size_t i) {
    const Merge* merge = table.find(symbols[i], symbols[i + 1]);
    pairs[i] = merge ? *merge : Merge{kNoRank, 0};
  };
  size_t size = symbols.size();
  for (size_t i = 0; i + 1 < size; ++i) look_up(i);
  while (size > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < size; ++i) {
      if (pairs[i].rank < pairs[best].rank) best = i;
    }
    if (pairs[best].rank == kNoRank) break;
    symbols[best] = pairs[best].result;
    for (size_t i = best + 1; i + 1 < size; ++i) {
      symbols[i] = symbols[i + 1];
      pairs[i] = i + 2 < size ? pairs[i + 1] : pairs[i];
    }
    --size;
    if (best + 1 < size) look_up(best);
    if (best > 0) look_up(best - 1);
  }
  symbols.resize(size);
}

struct Candidate {
  uint32_t rank;
  uint32_t position;
  int32_t left;
  int32_t right;
  int32_t result;
  bool operator>(const Candidate& other) const {
    return rank != other.rank ? rank > other.rank : position > other.position;
  }
};

struct Link {
  uint32_t previous;
  uint32_t next;
};

void merge_long(const MergeTable& table, std::vector<int32_t>& symbols) {
  constexpr uint32_t kEnd = std::numeric_limits<uint32_t>::max();
  constexpr int32_t kGone = -1000000000;  // no symbol has this id
  const auto size = static_cast<uint32_t>(symbols.size());
  std::vector<Link> links(size);
  for (uint32_t i = 0; i < size; ++i) links[i] = {i == 0 ? kEnd : i - 1, i + 1 == size ? kEnd : i + 1};
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto consider = [&](uint32_t left, uint32_t right) {
    if (const Merge* merge = table.find(symbols[left], symbols[right])) {
      queue.push({merge->rank, left, symbols[left], symbols[right], merge->result});
    }
  };
  for (uint32_t i = 0; i + 1 < size; ++i) consider(i, i + 1);
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    const uint32_t left = top.position;
    const uint32_t right = links[left].next;
    if (symbols[left] != top.left || right == kEnd || symbols[right] != top.right) continue;
    symbols[left] = top.result;
    symbols[right] = kGone;
    const uint32_t after = links[right].next;
    links[left].next = after;
    if (after != kEnd) {
      links[after].previous = left;
      consider(left, after);
    }
    if (links[left].previous != kEnd) consider(links[left].previous, left);
  }
  std::erase(symbols, kGone);
}

}  // namespace

void MergeTable::reserve(size_t num_merges) {
  grow(std::bit_ceil(std::max<size_t>(16, num_merges * 2)));
}

void MergeTable::grow(size_t num_slots) {
  if (num_slots <= slots_.size()) return;
  std::vector<Slot> old(num_slots);
  old.swap(slots_);
  mask_ = num_slots - 1;
  shift_ = 64 - std::countr_zero(num_slots);
  size_ = 0;
  for (const Slot& slot : old) {
    if (slot.key != kEmpty) {
      insert(static_cast<int32_t>(slot.key >> 32), static_cast<int32_t>(slot.key & 0xFFFFFFFF), slot.merge);
    }
  }
}

void MergeTable::insert(int32_t left, int32_t right, Merge merge) {
  if ((size_ + 1) * 2 > slots_.size()) grow(std::max<size_t>(16, slots_.size() * 2));
  const uint64_t key = key_of(left, right);
  size_t at = hash(key);
  while (slots_[at].key != kEmpty && slots_[at].key != key) at = (at + 1) & mask_;
  if (slots_[at].key == kEmpty) ++size_;
  slots_[at] = {key, merge};
}

void merge_symbols(const MergeTable& table, std::vector<int32_t>& symbols) {
  if (symbols.size() < 2) return;
  if (symbols.size() <= kShortWord) {
    merge_short(table, symbols);
  } else {
    merge_long(table, symbols);
  }
}

}  // namespace primus::tokenizer
