// The tokenizer of a SentencePiece .model.
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "primus/tokenizer/added_tokens.h"
#include "primus/tokenizer/bpe_model.h"
#include "primus/tokenizer/decoder.h"
#include "primus/tokenizer/load.h"
#include "primus/tokenizer/normalizer.h"
#include "primus/tokenizer/sentencepiece_model.h"
#include "primus/tokenizer/unicode.h"
#include "primus/tokenizer/unigram.h"

namespace primus::tokenizer {

namespace {

constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";

class SentencePieceTokenizer final : public Tokenizer {
 public:
  SentencePieceTokenizer(SentencePieceFile file, CharsMap charsmap)
      : file_(std::move(file)), charsmap_(std::move(charsmap)) {
    const bool is_bpe = file_.kind == PieceModelKind::Bpe;
    kind_ =
        fmt::format("SentencePiece {}{}", is_bpe ? "BPE" : "unigram", file_.byte_fallback ? " with byte fallback" : "");
    vocab_size_ = static_cast<int64_t>(file_.pieces.size());
    const auto piece_id = [&](int32_t id) {
      return id >= 0 && id < vocab_size_ ? std::optional<int32_t>(id) : std::nullopt;
    };
    special_ = {piece_id(file_.bos_id), piece_id(file_.eos_id), piece_id(file_.pad_id), piece_id(file_.eos_id),
                piece_id(file_.unk_id)};
    if (special_.bos) boundary_.before = {*special_.bos};
    if (special_.eos) boundary_.after = {*special_.eos};
    boundary_.decided_by = "the reference library's rule (neither unless asked for)";
    index();
    if (is_bpe) {
      bpe_ = make_bpe();
      cut_at_space_ = bpe_->may_cut_before(kSpaceSymbol);
    } else {
      unigram_.emplace(file_.pieces, file_.unk_id);
    }
  }

  std::optional<std::string> token_text(int32_t id) const override {
    if (id < 0 || id >= vocab_size_) return std::nullopt;
    return piece(id).text;
  }
  std::optional<int32_t> token_id(std::string_view text) const override {
    const auto found = id_of_.find(std::string(text));
    if (found == id_of_.end()) return std::nullopt;
    return found->second;
  }
  bool is_special(int32_t id) const override {
    return id >= 0 && id < vocab_size_ &&
           (piece(id).type == PieceType::Control || piece(id).type == PieceType::Unknown);
  }

  void append_bytes(int32_t id, bool first, std::string& bytes) const override {
    if (piece(id).type == PieceType::Byte) {
      bytes.push_back(static_cast<char>(byte_of_token(piece(id).text).value_or(0)));
    } else {
      bytes += surface(id, first);
    }
  }

 protected:
  void encode_body(std::string_view text, bool, std::vector<int32_t>& ids) const override {
    const WordCachePool::Lease lease(caches_);
    const std::string normalized = normalize(text);
    bool previous_unknown = false;
    for (const TextPart& part : frozen_parts(normalized)) {
      const std::string_view between = std::string_view(normalized).substr(part.begin, part.end - part.begin);
      if (part.id >= 0) {
        ids.push_back(part.id);
        previous_unknown = false;
      } else if (bpe_) {
        encode_bpe(between, *lease, ids);
      } else {
        encode_unigram(between, previous_unknown, ids);
      }
    }
  }

  std::string decode_body(std::span<const int32_t> ids) const override {
    std::string text;
    std::string run;
    bool at_start = true;
    bool space_taken = false;
    for (const int32_t id : ids) {
      if (piece(id).type == PieceType::Byte) {
        append_bytes(id, false, run);
        continue;
      }
      close_run(run, text);
      if (space_taken || !text.empty()) at_start = false;
      space_taken = at_start && file_.add_dummy_prefix && !file_.remove_extra_whitespaces &&
                    piece(id).type != PieceType::Control && piece(id).text.starts_with(kSpaceSymbol);
      text += surface(id, at_start);
    }
    close_run(run, text);
    return text;
  }

 private:
  const Piece& piece(int32_t id) const { return file_.pieces[static_cast<size_t>(id)]; }

  void index() {
    std::vector<AddedToken> frozen;
    std::vector<std::string> spellings;
    for (size_t id = 0; id < file_.pieces.size(); ++id) {
      id_of_.emplace(file_.pieces[id].text, static_cast<int32_t>(id));
      if (file_.pieces[id].type != PieceType::UserDefined) continue;
      frozen.push_back({.id = static_cast<int32_t>(id), .content = file_.pieces[id].text});
      spellings.push_back(file_.pieces[id].text);
    }
    frozen_ = AddedTokenFinder(std::move(frozen), spellings);
  }

  BpeModel make_bpe() const {
    std::vector<std::optional<std::string>> texts;
    std::vector<uint32_t> rank_of(file_.pieces.size(), BpeModel::kNoRank);
    std::map<float, uint32_t, std::greater<>> rank_of_score;  // equal scores are one rank: the leftmost goes first
    for (const Piece& one : file_.pieces) {
      texts.emplace_back(one.text);
      if (one.type == PieceType::Normal) rank_of_score.emplace(one.score, 0);
    }
    uint32_t next = 0;
    for (auto& [score, rank] : rank_of_score) rank = next++;
    for (size_t id = 0; id < file_.pieces.size(); ++id) {
      if (file_.pieces[id].type == PieceType::Normal) rank_of[id] = rank_of_score[file_.pieces[id].score];
    }
    const BpeOptions options{.byte_fallback = file_.byte_fallback, .fuse_unk = true, .unk = special_.unk};
    return BpeModel::from_ranks(std::move(texts), rank_of, options);
  }

  // User-defined pieces are taken as they stand and never merged. In a unigram model they compete with their score.
  std::vector<TextPart> frozen_parts(std::string_view normalized) const {
    std::vector<TextPart> parts;
    if (bpe_ && !frozen_.empty()) {
      frozen_.split(normalized, true, parts);
    } else if (!normalized.empty()) {
      parts.push_back({0, normalized.size(), -1});
    }
    return parts;
  }

  void encode_bpe(std::string_view text, WordCache& cache, std::vector<int32_t>& ids) const {
    for (size_t at = 0; at < text.size();) {
      size_t end = text.size();
      if (cut_at_space_) {
        size_t hit = text.find(kSpaceSymbol, at + 1);
        while (hit != text.npos && hit >= 3 && text.substr(hit - 3, 3) == kSpaceSymbol) {
          hit = text.find(kSpaceSymbol, hit + 1);
        }
        if (hit != text.npos) end = hit;
      }
      bpe_->encode_word(text.substr(at, end - at), cache, ids);
      at = end;
    }
  }

  void encode_unigram(std::string_view text, bool& previous_unknown, std::vector<int32_t>& ids) const {
    for (const UnigramModel::Cut& cut : unigram_->encode(text)) {
      const bool unknown = cut.id == file_.unk_id;
      if (!unknown || !file_.byte_fallback) {
        if (!unknown || !previous_unknown) ids.push_back(cut.id);
      } else {
        for (const char c : text.substr(cut.begin, cut.end - cut.begin)) {
          ids.push_back(id_of_.at(fmt::format("<0x{:02X}>", static_cast<unsigned char>(c))));
        }
      }
      previous_unknown = unknown && !file_.byte_fallback;
    }
  }

  // The next character or mapped sequence of the text: what it becomes and how much of the text it is.
  std::pair<std::string_view, size_t> normalize_prefix(std::string_view text) const {
    if (!frozen_.empty()) {
      size_t length = frozen_.match_at(text, 0);
      if (length > 0) return {text.substr(0, length), length};
    }
    const auto mapped = charsmap_.longest(text);
    if (mapped.second > 0) return mapped;
    const auto length = static_cast<size_t>(decode_utf8(text.data()).num_bytes);
    return {text.substr(0, length), length};
  }

  std::string normalize(std::string_view text) const {
    const bool trim = file_.remove_extra_whitespaces;
    while (trim && !text.empty()) {
      const auto [out, length] = normalize_prefix(text);
      if (out != " ") break;
      text.remove_prefix(length);
    }
    if (text.empty()) return {};
    const std::string_view space = file_.escape_whitespaces ? kSpaceSymbol : std::string_view(" ");
    std::string result;
    result.reserve(text.size() + text.size() / 2);
    if (!file_.treat_whitespace_as_suffix && file_.add_dummy_prefix) result += space;
    bool previous_space = trim;
    while (!text.empty()) {
      auto [out, length] = normalize_prefix(text);
      while (previous_space && out.starts_with(' ')) out.remove_prefix(1);
      if (!out.empty()) {
        for (const char c : out) {
          if (c == ' ') result += space;
          if (c != ' ') result.push_back(c);
        }
        previous_space = out.ends_with(' ');
      }
      text.remove_prefix(length);
      previous_space = previous_space && trim;
    }
    while (trim && result.ends_with(space)) result.resize(result.size() - space.size());
    if (file_.treat_whitespace_as_suffix && file_.add_dummy_prefix) result += space;
    return result;
  }

  std::string surface(int32_t id, bool at_start) const {
    const Piece& one = piece(id);
    if (one.type == PieceType::Control) return {};
    if (one.type == PieceType::Unknown) return file_.unk_surface;
    std::string_view text = one.text;
    if (at_start && (file_.add_dummy_prefix || file_.remove_extra_whitespaces) && text.starts_with(kSpaceSymbol)) {
      text.remove_prefix(kSpaceSymbol.size());
    }
    return replace_all(text, kSpaceSymbol, " ");
  }

  // Bytes that are no UTF-8 become one U+FFFD each, as in the reference library.
  static void close_run(std::string& run, std::string& text) {
    std::string_view rest = run;
    while (!rest.empty()) {
      const size_t good = valid_utf8_prefix(rest);
      text.append(rest.substr(0, good));
      rest.remove_prefix(good);
      if (rest.empty()) break;
      text.append("\xEF\xBF\xBD");
      rest.remove_prefix(1);
    }
    run.clear();
  }

  SentencePieceFile file_;
  CharsMap charsmap_;
  std::unordered_map<std::string, int32_t> id_of_;
  AddedTokenFinder frozen_;
  std::optional<BpeModel> bpe_;
  std::optional<UnigramModel> unigram_;
  bool cut_at_space_ = false;
  mutable WordCachePool caches_;
};

Diagnostics check(const SentencePieceFile& file, const Place& place) {
  Diagnostics errors;
  if (file.kind != PieceModelKind::Bpe && file.kind != PieceModelKind::Unigram) {
    Diagnostic error = error_at(place, "this kind of SentencePiece model is not supported");
    error.found = file.kind == PieceModelKind::Word ? "word" : "character";
    error.expected = "BPE or unigram";
    errors.push_back(std::move(error));
  }
  std::vector<bool> has_byte(256);
  for (size_t id = 0; id < file.pieces.size(); ++id) {
    const Piece& piece = file.pieces[id];
    const auto type = static_cast<int>(piece.type);
    const auto byte = byte_of_token(piece.text);
    if (piece.type == PieceType::Byte && byte) has_byte[*byte] = true;
    if (piece.text.empty() || type < 1 || type > 6 || (piece.type == PieceType::Byte && !byte) ||
        valid_utf8_prefix(piece.text) != piece.text.size()) {
      errors.push_back(error_at(place, fmt::format("piece {} of the SentencePiece model is broken", id)));
    }
    if (piece.type == PieceType::Unused && file.kind == PieceModelKind::Bpe) {
      errors.push_back(
          error_at(place, fmt::format("piece {} is marked unused, which is not supported in a BPE model", id)));
    }
    if (errors.size() >= 10) return errors;
  }
  if (file.byte_fallback && std::find(has_byte.begin(), has_byte.end(), false) != has_byte.end()) {
    errors.push_back(error_at(place, "the model says byte_fallback, but has no piece for some bytes"));
  }
  if (file.unk_id < 0 || static_cast<size_t>(file.unk_id) >= file.pieces.size()) {
    errors.push_back(error_at(place, "the model has no unknown piece"));
  }
  return errors;
}

}  // namespace

TokenizerResult read_sentencepiece(std::string_view bytes, const Place& place) {
  Result<SentencePieceFile> file = parse_sentencepiece(bytes, place);
  if (!file) return file.diagnostics();
  Diagnostics errors = check(*file, place);
  if (!errors.empty()) return errors;
  Result<CharsMap> charsmap = CharsMap::parse(std::move(file->charsmap), place);
  if (!charsmap) return charsmap.diagnostics();
  std::unique_ptr<Tokenizer> result =
      std::make_unique<SentencePieceTokenizer>(std::move(file).value(), std::move(charsmap).value());
  return result;
}

}  // namespace primus::tokenizer
