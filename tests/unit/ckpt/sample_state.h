// A small training state whose every value depends on the step, cut among ranks.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "primus/ckpt/loader.h"
#include "primus/ckpt/writer.h"
#include "primus/tensor/prelude.h"

namespace primus::test {

struct TensorSpec {
  std::string name;
  std::vector<int64_t> shape;
  at::ScalarType type;
};

inline std::vector<TensorSpec> sample_tensors() {
  return {{"model.embedding.weight", {7, 5}, at::kBFloat16},
          {"model.norm.weight", {5}, at::kBFloat16},
          {"model.nothing", {0, 3}, at::kFloat},
          {"master.embedding.weight", {7, 5}, at::kFloat},
          {"optimizer.exp_avg.embedding.weight", {7, 5}, at::kFloat},
          {"optimizer.count", {}, at::kLong}};
}

// Element i is step + i / 4 (exact in bf16 for what is used here), different for every tensor.
inline at::Tensor sample_values(const TensorSpec& spec, int64_t step) {
  int64_t count = 1;
  for (const int64_t size : spec.shape) count *= size;
  at::Tensor values = at::empty({count}, at::kFloat);
  for (int64_t i = 0; i < count; ++i) {
    values.data_ptr<float>()[i] =
        static_cast<float>(step) + static_cast<float>(i) / 4 + static_cast<float>(spec.name.size());
  }
  return values.reshape(spec.shape).to(spec.type).contiguous();
}

// The part of a rank: dim 0 cut into nearly equal runs of rows (some may be empty); scalars belong to the last rank.
inline ckpt::NamedShard sample_shard(const TensorSpec& spec, const at::Tensor& whole, int rank, int world_size) {
  ckpt::NamedShard shard = ckpt::whole_shard(spec.name, whole);
  if (spec.shape.empty()) return shard;
  const int64_t rows = spec.shape[0];
  const int64_t begin = rows * rank / world_size, end = rows * (rank + 1) / world_size;
  shard.offset[0] = begin;
  shard.data = whole.slice(0, begin, end).contiguous();
  return shard;
}

inline std::vector<ckpt::NamedShard> sample_shards(int64_t step, int rank = 0, int world_size = 1) {
  std::vector<ckpt::NamedShard> shards;
  for (const TensorSpec& spec : sample_tensors()) {
    if (spec.shape.empty() && rank + 1 < world_size) continue;
    shards.push_back(sample_shard(spec, sample_values(spec, step), rank, world_size));
  }
  return shards;
}

inline ckpt::SaveRequest sample_request(int64_t step, int rank = 0, int world_size = 1) {
  ckpt::SaveRequest request;
  request.state = {.step = step,
                   .consumed_samples = step * 12,
                   .consumed_tokens = step * 12 * 64,
                   .seed = 18446744073709551557ULL,
                   .model = {{"hidden_size", 5}, {"vocabulary", 7}},
                   .layout = {{"dp", world_size}},
                   .extra = {{"loss_scale", 65536.0}, {"lr_step", step}},
                   .precision = "bf16",
                   .gemm_route = "onednn",
                   .torch_version = "2.15.0"};
  request.shards = sample_shards(step, rank, world_size);
  return request;
}

// What differs between the checkpoint and the state of that step, as text; empty when nothing does.
inline std::string differences(const hub::FoundCheckpoint& found, int64_t step) {
  std::vector<ckpt::NamedShard> wanted = sample_shards(step);
  std::vector<ckpt::NamedShard> loaded;
  for (const ckpt::NamedShard& shard : wanted) {
    loaded.push_back(ckpt::whole_shard(shard.name, at::full_like(shard.data, 77)));
  }
  Result<ckpt::LoadReport> report = ckpt::load(found, loaded);
  if (!report) return render(report.diagnostics());
  std::string text;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!at::equal(wanted[i].data, loaded[i].data)) text += wanted[i].name + " differs\n";
  }
  if (found.manifest.state.step != step || found.manifest.state.consumed_samples != step * 12)
    text += "the state differs\n";
  return text;
}

}  // namespace primus::test
