#include "primus/tokenizer/unigram.h"

#include <algorithm>
#include <limits>

#include "primus/tokenizer/unicode.h"

namespace primus::tokenizer {

namespace {

constexpr float kUnknownPenalty = 10.0F;
constexpr float kResetAt = 100000.0F;  // scores are pulled back to 0 here, so that they stay exact in long texts

struct Node {
  int32_t id = -1;
  float score = 0.0F;
  int64_t begin = -1;  // -1: not reached
};

}  // namespace

UnigramModel::UnigramModel(const std::vector<Piece>& pieces, int32_t unk_id) : id_at_node_{-1}, unk_id_(unk_id) {
  min_score_ = std::numeric_limits<float>::max();
  max_score_ = std::numeric_limits<float>::lowest();
  user_defined_.resize(pieces.size());
  scores_.resize(pieces.size());
  for (size_t id = 0; id < pieces.size(); ++id) {
    const Piece& piece = pieces[id];
    scores_[id] = piece.score;
    user_defined_[id] = piece.type == PieceType::UserDefined;
    if (piece.type == PieceType::Normal) {
      min_score_ = std::min(min_score_, piece.score);
      max_score_ = std::max(max_score_, piece.score);
    }
    if (piece.type != PieceType::Normal && piece.type != PieceType::UserDefined) continue;
    int32_t node = 0;
    for (const char c : piece.text) {
      const int32_t byte = static_cast<unsigned char>(c);
      const Merge* edge = edges_.find(node, byte);
      if (edge) {
        node = edge->result;
        continue;
      }
      const auto next = static_cast<int32_t>(id_at_node_.size());
      edges_.insert(node, byte, {0, next});
      id_at_node_.push_back(-1);
      node = next;
    }
    id_at_node_[static_cast<size_t>(node)] = static_cast<int32_t>(id);
  }
}

std::vector<UnigramModel::Cut> UnigramModel::encode(std::string_view text) const {
  const float unknown_score = min_score_ - kUnknownPenalty;
  std::vector<Node> ends(text.size() + 1);
  size_t frontier = 0;
  const auto offer = [&](size_t begin, size_t end, float score, int32_t id) {
    frontier = std::max(frontier, end);
    Node& node = ends[end];
    if (node.begin != -1 && score <= node.score) return;
    node = {id, score, static_cast<int64_t>(begin)};
  };
  for (size_t begin = 0; begin < text.size();) {
    float so_far = ends[begin].score;
    if (so_far < -kResetAt || so_far > kResetAt) {
      for (size_t i = begin; i <= frontier; ++i) {
        if (i == begin || ends[i].begin != -1) ends[i].score -= so_far;
      }
      so_far = 0.0F;
    }
    const auto length = static_cast<size_t>(decode_utf8(text.data() + begin).num_bytes);
    bool has_single = false;
    int32_t node = 0;
    for (size_t end = begin; end < text.size();) {
      const Merge* edge = edges_.find(node, static_cast<unsigned char>(text[end]));
      if (!edge) break;
      node = edge->result;
      ++end;
      const int32_t id = id_at_node_[static_cast<size_t>(node)];
      if (id < 0) continue;
      const auto at = static_cast<size_t>(id);
      const float score = user_defined_[at] ? static_cast<float>(end - begin) * max_score_ - 0.1F : scores_[at];
      offer(begin, end, score + so_far, id);
      has_single = has_single || end - begin == length;
    }
    if (!has_single) offer(begin, begin + length, unknown_score + so_far, unk_id_);
    begin += length;
  }
  std::vector<Cut> cuts;
  for (size_t end = text.size(); end > 0;) {
    const auto begin = static_cast<size_t>(ends[end].begin);
    cuts.push_back({begin, end, ends[end].id});
    end = begin;
  }
  std::reverse(cuts.begin(), cuts.end());
  return cuts;
}

}  // namespace primus::tokenizer
