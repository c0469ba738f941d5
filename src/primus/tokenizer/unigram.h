// The unigram model of SentencePiece: the most probable way to cut a text into pieces (Viterbi).
// Source: Kudo 2018, arXiv:1804.10959; ties and rounding as in the reference library (32-bit scores).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "primus/tokenizer/merge_table.h"
#include "primus/tokenizer/sentencepiece_model.h"

namespace primus::tokenizer {

class UnigramModel {
 public:
  UnigramModel(const std::vector<Piece>& pieces, int32_t unk_id);

  struct Cut {
    size_t begin;
    size_t end;
    int32_t id;  // unk_id for a character that no piece holds
  };
  // The pieces of text (normalised, valid UTF-8) in order.
  std::vector<Cut> encode(std::string_view text) const;

 private:
  std::vector<float> scores_;
  std::vector<int32_t> id_at_node_;  // -1: a path only
  std::vector<bool> user_defined_;
  MergeTable edges_;  // (node, byte) -> node
  float min_score_ = 0.0F;
  float max_score_ = 0.0F;
  int32_t unk_id_;
};

}  // namespace primus::tokenizer
