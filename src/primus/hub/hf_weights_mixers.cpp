#include "primus/hub/hf_weights_mixers.h"

namespace primus::hub {

namespace {

HfTensor vector_of(const std::string& name, const std::string& piece, int64_t size) {
  return {.name = name, .shape = {size}, .parts = {{piece, {size}, 0, 1, 0}}};
}

// A channel by itself: torch stores [channels, 1, kernel].
HfTensor convolution(const std::string& name, const std::string& piece, int64_t channels, int64_t kernel) {
  return {
      .name = name, .shape = {channels, 1, kernel}, .parts = {{piece + ".weight", {channels, kernel}, 0, kernel, 1}}};
}

struct PieceRows {
  const char* piece;
  int64_t count;
};

// Pieces one below the other.
std::vector<HfTensor> stacked_rows(const std::string& name, const std::string& piece,
                                   const std::vector<PieceRows>& rows, int64_t cols, bool bias) {
  std::vector<HfTensor> out(1);
  HfTensor weight{.name = name + ".weight"}, biases{.name = name + ".bias"};
  int64_t first = 0;
  for (const PieceRows& one : rows) {
    weight.parts.push_back({piece + one.piece + ".weight", {one.count, cols}, first * cols, cols, 1});
    biases.parts.push_back({piece + one.piece + ".bias", {one.count}, first, 1, 0});
    first += one.count;
  }
  weight.shape = {first, cols}, biases.shape = {first};
  out.front() = std::move(weight);
  if (bias) out.push_back(std::move(biases));
  return out;
}

// The same with the pieces taking turns: `groups` times a share of each.
HfTensor rows_by_group(const std::string& name, const std::string& piece, const std::vector<PieceRows>& rows,
                       int64_t cols, int64_t groups) {
  HfTensor out{.name = name + ".weight"};
  int64_t all = 0;
  for (const PieceRows& one : rows) all += one.count;
  int64_t first = 0;
  for (const PieceRows& one : rows) {
    const int64_t share = one.count / groups;
    out.parts.push_back({.piece = piece + one.piece + ".weight",
                         .shape = {one.count, cols},
                         .offset = first * cols,
                         .row_stride = cols,
                         .col_stride = 1,
                         .group_rows = share,
                         .group_stride = all / groups * cols});
    first += share;
  }
  out.shape = {all, cols};
  return out;
}

void append_all(std::vector<HfTensor>& all, std::vector<HfTensor> more) {
  for (HfTensor& tensor : more) all.push_back(std::move(tensor));
}

std::vector<HfTensor> short_conv(const spec::ShortConv& c, int64_t h, const std::string& hf, const std::string& piece) {
  std::vector<HfTensor> out = stacked_rows(hf + "in_proj", piece, {{"b", h}, {"c", h}, {"x", h}}, h, c.bias);
  out.push_back(convolution(hf + "conv.weight", piece + "conv", h, c.kernel_size));
  if (c.bias) out.push_back(vector_of(hf + "conv.bias", piece + "conv.bias", h));
  append_all(out, stacked_rows(hf + "out_proj", piece, {{"o", h}}, h, c.bias));
  return out;
}

std::vector<HfTensor> gated_delta(const spec::GatedDelta& g, int64_t h, bool by_heads, const std::string& hf,
                                  const std::string& piece) {
  const int64_t k = g.num_key_heads * g.key_head_dim, v = g.num_value_heads * g.value_head_dim, n = g.num_value_heads;
  std::vector<HfTensor> out;
  if (by_heads) {
    out.push_back(
        rows_by_group(hf + "in_proj_qkvz", piece, {{"q", k}, {"k", k}, {"v", v}, {"z", v}}, h, g.num_key_heads));
    out.push_back(rows_by_group(hf + "in_proj_ba", piece, {{"b", n}, {"a", n}}, h, g.num_key_heads));
  } else {
    append_all(out, stacked_rows(hf + "in_proj_qkv", piece, {{"q", k}, {"k", k}, {"v", v}}, h, false));
    append_all(out, stacked_rows(hf + "in_proj_z", piece, {{"z", v}}, h, false));
    append_all(out, stacked_rows(hf + "in_proj_b", piece, {{"b", n}}, h, false));
    append_all(out, stacked_rows(hf + "in_proj_a", piece, {{"a", n}}, h, false));
  }
  out.push_back(convolution(hf + "conv1d.weight", piece + "conv", 2 * k + v, g.kernel_size));
  out.push_back(vector_of(hf + "dt_bias", piece + "dt_bias", n));
  out.push_back(vector_of(hf + "A_log", piece + "a_log", n));
  out.push_back(vector_of(hf + "norm.weight", piece + "norm.weight", g.value_head_dim));
  append_all(out, stacked_rows(hf + "out_proj", piece, {{"o", h}}, v, false));
  return out;
}

std::vector<HfTensor> mamba2(const spec::Mamba2& m, int64_t h, const std::string& hf, const std::string& piece) {
  const int64_t inner = m.num_heads * m.head_dim, states = m.num_groups * m.state_dim;
  std::vector<HfTensor> out =
      stacked_rows(hf + "in_proj", piece,
                   {{"z", inner}, {"x", inner}, {"b", states}, {"c", states}, {"dt", m.num_heads}}, h, m.bias);
  out.push_back(convolution(hf + "conv1d.weight", piece + "conv", inner + 2 * states, m.kernel_size));
  if (m.conv_bias) out.push_back(vector_of(hf + "conv1d.bias", piece + "conv.bias", inner + 2 * states));
  out.push_back(vector_of(hf + "dt_bias", piece + "dt_bias", m.num_heads));
  out.push_back(vector_of(hf + "A_log", piece + "a_log", m.num_heads));
  out.push_back(vector_of(hf + "D", piece + "d", m.num_heads));
  out.push_back(vector_of(hf + "norm.weight", piece + "norm.weight", inner));
  append_all(out, stacked_rows(hf + "out_proj", piece, {{"o", h}}, inner, m.bias));
  return out;
}

}  // namespace

std::optional<std::vector<HfTensor>> mixer_tensors(const spec::LayerSpec& layer, int64_t hidden, const HfNaming& naming,
                                                   const std::string& hf, const std::string& piece) {
  if (layer.short_conv && *naming.short_conv != '\0')
    return short_conv(*layer.short_conv, hidden, hf + naming.short_conv + ".", piece + "conv.");
  if (layer.gated_delta && *naming.gated_delta != '\0')
    return gated_delta(*layer.gated_delta, hidden, naming.delta_by_heads, hf + naming.gated_delta + ".",
                       piece + "delta.");
  if (layer.mamba2 && *naming.mamba2 != '\0')
    return mamba2(*layer.mamba2, hidden, hf + naming.mamba2 + ".", piece + "mamba.");
  return std::nullopt;
}

std::vector<HfTensor> gated_queries(const spec::Attention& attention, int64_t hidden, const std::string& hf,
                                    const std::string& piece) {
  const int64_t q = attention.num_heads * attention.head_dim, heads = attention.num_heads;
  std::vector<HfTensor> out = {rows_by_group(hf + "q_proj", piece, {{"q", q}, {"gate", q}}, hidden, heads)};
  if (!attention.qkv_bias) return out;
  HfTensor bias = rows_by_group(hf + "q_proj", piece, {{"q", q}, {"gate", q}}, 1, heads);
  bias.name = hf + "q_proj.bias";
  bias.shape = {2 * q};
  for (WeightPart& part : bias.parts) {
    part.piece.replace(part.piece.size() - 6, 6, "bias");
    part.shape = {q};
    part.col_stride = 0;
  }
  out.push_back(std::move(bias));
  return out;
}

}  // namespace primus::hub
