// Tiny models of every family, values that shout, and folders made of them.
#pragma once

#include <string>
#include <vector>

#include "support/hf_golden.h"

#include "primus/base/hash.h"
#include "primus/hub/hf_config.h"
#include "primus/hub/hf_folder_writer.h"
#include "primus/hub/hf_weights_source.h"

namespace primus::test {

struct TinyModel {
  std::string name;
  hub::HfModel hf;
};

inline TinyModel tiny_model(const std::string& name, const Json& config) {
  return {name, value_or_throw(hub::read_hf_config(config, name))};
}

inline Json tiny_grok() {
  return {
      {"model_type", "grok-1"},   {"hidden_size", 24},           {"num_hidden_layers", 2}, {"num_attention_heads", 4},
      {"num_key_value_heads", 2}, {"intermediate_size", 11},     {"vocab_size", 99},       {"num_experts", 3},
      {"num_experts_per_tok", 2}, {"tie_word_embeddings", false}};
}

inline Json tiny_grok2() {
  return {{"model_type", "git"},
          {"architectures", {"Grok1ForCausalLM"}},
          {"hidden_size", 24},
          {"num_hidden_layers", 2},
          {"num_attention_heads", 4},
          {"num_key_value_heads", 2},
          {"head_dim", 10},
          {"intermediate_size", 19},
          {"moe_intermediate_size", 11},
          {"vocab_size", 99},
          {"num_local_experts", 3},
          {"num_experts_per_tok", 2},
          {"residual_moe", true},
          {"embedding_multiplier_scale", 3.5},
          {"output_multiplier_scale", 0.25},
          {"attn_temperature_len", 9}};
}

// The tiny configurations that transformers wrote, `most` of each family, and grok 1 and 2, which it does not have.
inline std::vector<TinyModel> tiny_models(int most = 6) {
  std::vector<TinyModel> all = {tiny_model("grok-1", tiny_grok()), tiny_model("grok-2", tiny_grok2())};
  for (const Json& one : golden_cases()) {
    const auto name = one.at("name").get<std::string>();
    if (name.starts_with("tiny_") && name.back() - '0' < most) all.push_back(tiny_model(name, one.at("config")));
  }
  return all;
}

// Different for every element of every weight, exact in f32.
inline void fill_from_name(const hub::WeightPart& part, std::span<float> out) {
  const auto base = static_cast<float>(fnv1a64(part.piece) % 4001) - 2000;
  for (size_t i = 0; i < out.size(); ++i) out[i] = base + static_cast<float>(i) / 16;
}

// A folder of weights (without a config.json), all tensors in one type.
inline void write_weights(const fs::path& folder, const std::vector<hub::HfTensor>& tensors,
                          const hub::FetchPiece& fetch, hub::Dtype dtype = hub::Dtype::F32,
                          const hub::HfFolderOptions& options = {}) {
  std::vector<hub::TensorInfo> infos;
  std::map<std::string, const hub::HfTensor*> by_name;
  for (const hub::HfTensor& tensor : tensors) {
    infos.push_back(hub::tensor_info(tensor, dtype));
    by_name[tensor.name] = &tensor;
  }
  auto writer = value_or_throw(hub::HfFolderWriter::create(folder, infos, options));
  while (const hub::TensorInfo* info = writer.next())
    writer.append(hub::assemble(*by_name.at(info->name), info->dtype, fetch));
  writer.finish();
}

struct RawTensor {
  hub::TensorInfo info;
  std::vector<std::byte> bytes;
};

template <class T>
RawTensor raw(const std::string& name, hub::Dtype dtype, std::vector<int64_t> shape, const std::vector<T>& values) {
  RawTensor tensor{{name, dtype, std::move(shape)}, {}};
  const auto* begin = reinterpret_cast<const std::byte*>(values.data());
  tensor.bytes.assign(begin, begin + values.size() * sizeof(T));
  return tensor;
}

inline void write_file(const fs::path& file, const std::vector<RawTensor>& tensors) {
  std::vector<hub::TensorInfo> infos;
  for (const RawTensor& tensor : tensors) infos.push_back(tensor.info);
  hub::SafetensorsWriter writer(file, infos);
  for (const size_t i : writer.order()) writer.append(tensors[i].bytes);
  writer.close();
}

// Every tensor as a raw one, for tests that damage some.
inline std::vector<RawTensor> raw_weights(const std::vector<hub::HfTensor>& tensors) {
  std::vector<RawTensor> all;
  for (const hub::HfTensor& tensor : tensors)
    all.push_back({hub::tensor_info(tensor, hub::Dtype::F32), hub::assemble(tensor, hub::Dtype::F32, fill_from_name)});
  return all;
}

inline std::vector<float> rows_of(const hub::WeightSource& source, const std::string& piece, int64_t begin,
                                  int64_t end) {
  const auto& shape = source.shape(piece);
  std::vector<float> out(static_cast<size_t>((end - begin) * (shape.size() > 1 ? shape[1] : 1)));
  source.read_rows(piece, begin, end, out);
  return out;
}

inline std::vector<float> values_of(const hub::WeightSource& source, const std::string& piece) {
  return rows_of(source, piece, 0, source.shape(piece)[0]);
}

}  // namespace primus::test
