#include "primus/tokenizer/tokenizer.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <fmt/format.h>
#include <mutex>
#include <thread>

#include "primus/base/error.h"
#include "primus/tokenizer/unicode.h"

namespace primus::tokenizer {

namespace {

void check_ids(std::span<const int32_t> ids, int64_t vocab_size) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= 0 && ids[i] < vocab_size) continue;
    Diagnostic error = error_at({}, fmt::format("token id {} at position {} is outside the vocabulary", ids[i], i));
    error.expected = fmt::format("0 to {}", vocab_size - 1);
    error.suggestion = "use the tokenizer that the ids were made with";
    throw InputError(error);
  }
}

std::string id_or_none(const std::optional<int32_t>& id, const Tokenizer& tokenizer) {
  if (!id) return "none";
  return fmt::format("{} ({})", *id, tokenizer.token_text(*id).value_or("no text"));
}

}  // namespace

void Tokenizer::encode_to(std::string_view text, const EncodeOptions& options, std::vector<int32_t>& ids) const {
  if (options.add_bos) ids.insert(ids.end(), boundary_.before.begin(), boundary_.before.end());
  if (takes_any_bytes() || valid_utf8_prefix(text) == text.size()) {
    encode_body(text, options.allow_special, ids);
  } else {
    encode_body(replace_bad_utf8(text), options.allow_special, ids);
  }
  if (options.add_eos) ids.insert(ids.end(), boundary_.after.begin(), boundary_.after.end());
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  std::vector<int32_t> ids;
  encode_to(text, options, ids);
  return ids;
}

std::vector<int32_t> Tokenizer::encode_as_file(std::string_view text) const {
  return encode(text, {.add_bos = boundary_.before_by_default, .add_eos = boundary_.after_by_default});
}

std::string Tokenizer::decode(std::span<const int32_t> ids, const DecodeOptions& options) const {
  check_ids(ids, vocab_size_);
  std::vector<int32_t> kept;
  kept.reserve(ids.size());
  for (const int32_t id : ids) {
    if (!options.skip_special || !is_special(id)) kept.push_back(id);
  }
  return decode_body(kept);
}

std::string Tokenizer::describe() const {
  std::string text = fmt::format("kind        {}\n", kind_);
  text += fmt::format("source      {}\n", source_.empty() ? "built in" : source_);
  text += fmt::format("vocabulary  {}\n", vocab_size_);
  text += fmt::format("bos         {}\n", id_or_none(special_.bos, *this));
  text += fmt::format("eos         {}\n", id_or_none(special_.eos, *this));
  text += fmt::format("pad         {}\n", id_or_none(special_.pad, *this));
  text += fmt::format("eod         {}\n", id_or_none(special_.eod, *this));
  text += fmt::format("begin, end  {}, {}: decided by {}\n", boundary_.before_by_default ? "added" : "not added",
                      boundary_.after_by_default ? "added" : "not added",
                      boundary_.decided_by.empty() ? "nothing (no rule in its files)" : boundary_.decided_by);
  return text;
}

std::string StreamDecoder::push(int32_t id) {
  check_ids({&id, 1}, tokenizer_.vocab_size());
  if (options_.skip_special && tokenizer_.is_special(id)) return {};
  tokenizer_.append_bytes(id, first_, pending_);
  first_ = false;
  std::string text;
  std::string_view rest = pending_;
  while (!rest.empty()) {
    const size_t good = valid_utf8_prefix(rest);
    text.append(rest.substr(0, good));
    rest.remove_prefix(good);
    if (rest.empty()) break;
    const BadPart bad = bad_utf8_part(rest);
    if (bad.unfinished) break;
    text.append("\xEF\xBF\xBD");
    rest.remove_prefix(bad.num_bytes);
  }
  pending_ = std::string(rest);
  return text;
}

std::string StreamDecoder::finish() {
  const std::string text = replace_bad_utf8(pending_);
  pending_.clear();
  first_ = true;
  return text;
}

std::vector<std::vector<int32_t>> encode_batch(const Tokenizer& tokenizer, std::span<const std::string_view> texts,
                                               const EncodeOptions& options, int num_threads) {
  std::vector<std::vector<int32_t>> ids(texts.size());
  size_t wanted = num_threads > 0 ? static_cast<size_t>(num_threads) : std::thread::hardware_concurrency();
  wanted = std::clamp<size_t>(wanted, 1, std::max<size_t>(1, texts.size()));
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr first_error;
  std::mutex error_mutex;
  const auto work = [&] {
    try {
      for (size_t i = next.fetch_add(1); i < texts.size() && !failed; i = next.fetch_add(1)) {
        tokenizer.encode_to(texts[i], options, ids[i]);
      }
    } catch (...) {
      const std::lock_guard lock(error_mutex);
      if (!first_error) first_error = std::current_exception();
      failed = true;
    }
  };
  std::vector<std::thread> threads;
  for (size_t t = 1; t < wanted; ++t) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (first_error) std::rethrow_exception(first_error);
  return ids;
}

}  // namespace primus::tokenizer
