// Remembers the ids of words. A text has few different words, so most of encoding is looking up here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace primus::tokenizer {

// One thread's scratch space: the cache and the buffers of one encode call.
class WordCache {
 public:
  // Appends the ids of word and says true when they are known.
  bool append(std::string_view word, std::vector<int32_t>& ids) const {
    if (word.size() > kInlineBytes) return append_long(word, ids);
    const Key key = key_of(word);
    const Slot* slot = &slots_[slot_of(key, word.size())];
    for (int way = 0; way < 2; ++way, ++slot) {
      if (slot->key != key || slot->num_bytes != word.size()) continue;
      if (slot->num_ids > kInlineIds) return append_long(word, ids);
      ids.insert(ids.end(), slot->ids.begin(), slot->ids.begin() + slot->num_ids);
      return true;
    }
    return false;
  }
  void remember(std::string_view word, std::span<const int32_t> word_ids);

  std::vector<int32_t> symbols;  // scratch of the model

 private:
  static constexpr size_t kInlineBytes = 16;
  static constexpr size_t kInlineIds = 3;
  static constexpr size_t kNumSlots = 1 << 15;
  static constexpr size_t kMaxLongWords = 1 << 15;
  static constexpr size_t kMaxLongBytes = 256;  // longer words do not come twice

  struct Key {
    uint64_t first = 0;
    uint64_t last = 0;
    bool operator==(const Key&) const = default;
  };
  struct Slot {
    Key key;
    uint8_t num_bytes = 0;  // 0: free
    uint8_t num_ids = 0;    // more than kInlineIds: in long_
    std::array<int32_t, kInlineIds> ids{};
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  // With the length, these words of 8 bytes say which 16 bytes they come from.
  static Key key_of(std::string_view word) {
    Key key;
    const char* p = word.data();
    const size_t n = word.size();
    if (n >= 8) {
      std::memcpy(&key.first, p, 8);
      std::memcpy(&key.last, p + n - 8, 8);
    } else if (n >= 4) {
      std::memcpy(&key.first, p, 4);
      std::memcpy(&key.last, p + n - 4, 4);
    } else {
      for (size_t i = 0; i < n; ++i) key.first = key.first << 8 | static_cast<unsigned char>(p[i]);
    }
    return key;
  }
  static size_t slot_of(const Key& key, size_t num_bytes) {
    uint64_t hash = (key.first + num_bytes) * 0x9E3779B97F4A7C15ULL;
    hash = (hash ^ (hash >> 29) ^ key.last) * 0xBF58476D1CE4E5B9ULL;
    return static_cast<size_t>(hash >> 50) * 2 % kNumSlots;
  }
  bool append_long(std::string_view word, std::vector<int32_t>& ids) const;

  std::vector<Slot> slots_ = std::vector<Slot>(kNumSlots);
  std::unordered_map<std::string, std::vector<int32_t>, Hash, std::equal_to<>> long_;
};

// Lends caches to threads, so that a document starts with the words of the ones before it.
class WordCachePool {
 public:
  class Lease {
   public:
    explicit Lease(WordCachePool& pool) : pool_(pool), cache_(pool.take()) {}
    ~Lease() { pool_.give(std::move(cache_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    WordCache& operator*() const { return *cache_; }

   private:
    WordCachePool& pool_;
    std::unique_ptr<WordCache> cache_;
  };

 private:
  std::unique_ptr<WordCache> take();
  void give(std::unique_ptr<WordCache> cache);
  std::mutex mutex_;
  std::vector<std::unique_ptr<WordCache>> free_;
};

}  // namespace primus::tokenizer
