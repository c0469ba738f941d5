// The merge rules of a BPE vocabulary: which neighbours join, how early, into what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace primus::tokenizer {

struct Merge {
  uint32_t rank;   // lower joins first; equal ranks: leftmost first
  int32_t result;  // id of the joined token
};

// A flat hash table with open addressing: one cache line a look-up.
class MergeTable {
 public:
  void reserve(size_t num_merges);
  // A pair given again replaces the rule.
  void insert(int32_t left, int32_t right, Merge merge);
  size_t size() const { return size_; }

  const Merge* find(int32_t left, int32_t right) const {
    if (slots_.empty()) return nullptr;
    const uint64_t key = key_of(left, right);
    for (size_t at = hash(key);; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.key == key) return &slot.merge;
      if (slot.key == kEmpty) return nullptr;
    }
  }
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Slot& slot : slots_) {
      if (slot.key != kEmpty) {
        visit(static_cast<int32_t>(slot.key >> 32), static_cast<int32_t>(slot.key & 0xFFFFFFFF), slot.merge);
      }
    }
  }

 private:
  static constexpr uint64_t kEmpty = ~0ULL;
  struct Slot {
    uint64_t key = kEmpty;
    Merge merge{};
  };
  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  size_t hash(uint64_t key) const { return static_cast<size_t>((key * 0x9E3779B97F4A7C15ULL) >> shift_); }
  void grow(size_t num_slots);

  std::vector<Slot> slots_;
  size_t mask_ = 0;
  int shift_ = 64;
  size_t size_ = 0;
};

// Joins the neighbours of symbols until no rule applies. Cost: quadratic for short words, n log n for long ones.
void merge_symbols(const MergeTable& table, std::vector<int32_t>& symbols);

}  // namespace primus::tokenizer
