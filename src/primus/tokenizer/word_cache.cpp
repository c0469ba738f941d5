#include "primus/tokenizer/word_cache.h"

namespace primus::tokenizer {

bool WordCache::append_long(std::string_view word, std::vector<int32_t>& ids) const {
  const auto found = long_.find(word);
  if (found == long_.end()) return false;
  ids.insert(ids.end(), found->second.begin(), found->second.end());
  return true;
}

void WordCache::remember(std::string_view word, std::span<const int32_t> word_ids) {
  if (word.empty() || word.size() > kMaxLongBytes) return;
  const bool fits = word.size() <= kInlineBytes && word_ids.size() <= kInlineIds;
  if (!fits) {
    if (long_.size() >= kMaxLongWords) long_.clear();
    long_.emplace(word, std::vector<int32_t>(word_ids.begin(), word_ids.end()));
    if (word.size() > kInlineBytes) return;
  }
  const Key key = key_of(word);
  const size_t at = slot_of(key, word.size());
  // The newer of the two ways is the first one.
  slots_[at + 1] = slots_[at];
  Slot& slot = slots_[at];
  slot.key = key;
  slot.num_bytes = static_cast<uint8_t>(word.size());
  slot.num_ids = static_cast<uint8_t>(fits ? word_ids.size() : kInlineIds + 1);
  for (size_t i = 0; fits && i < word_ids.size(); ++i) slot.ids[i] = word_ids[i];
}

std::unique_ptr<WordCache> WordCachePool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<WordCache> cache = std::move(free_.back());
      free_.pop_back();
      return cache;
    }
  }
  return std::make_unique<WordCache>();
}

void WordCachePool::give(std::unique_ptr<WordCache> cache) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(cache));
}

}  // namespace primus::tokenizer
