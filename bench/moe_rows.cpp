// Mixtures of experts against dense models of equal active FLOPs, and weights from disk.
#include <fmt/format.h>
#include <memory>
#include <numeric>

#include "bench/bench.h"
#include "bench/process.h"

#include "primus/hub/safetensors.h"
#include "primus/kernels/grouped_gemm.h"
#include "primus/models/decoder.h"
#include "primus/optim/optimizer.h"

namespace primus::bench {
namespace {

const char* name_of(at::ScalarType dtype) {
  return dtype == at::kFloat ? "f32" : "bf16";
}

// Uneven shares, others in every round: library routines that make code for each new number of rows must not shine by
// repetition.
std::vector<int64_t> uneven_starts(int64_t num_experts, int64_t num_rows, int64_t round) {
  std::vector<double> share;
  for (int64_t e = 0; e < num_experts; ++e) share.push_back(1 + static_cast<double>((e * 7 + round * 5) % 11) / 5);
  const double sum = std::accumulate(share.begin(), share.end(), 0.0);
  std::vector<int64_t> starts = {0};
  double place = 0;
  for (const double one : share) starts.push_back(static_cast<int64_t>((place += one) / sum * double(num_rows) + 0.5));
  starts.back() = num_rows;
  return starts;
}

Row grouped_row(const kernels::GemmRoute& route, at::ScalarType dtype) {
  constexpr int64_t kExperts = 8, kRows = 2048, kIn = 768, kOut = 1024;
  const auto noise = [&](at::IntArrayRef shape) { return at::randn(shape, at::kFloat).to(dtype); };
  const at::Tensor x = noise({kRows, kIn}), dy = noise({kRows, kOut}), stacked = noise({kExperts * kOut, kIn});
  const at::Tensor one = stacked.narrow(0, 0, kOut);
  at::Tensor stacked_grad = at::zeros({kExperts * kOut, kIn}, at::kFloat),
             one_grad = at::zeros({kOut, kIn}, at::kFloat);
  int64_t round = 0;
  const std::vector<double> seconds = best_seconds(10, {[&] {
                                                          const auto starts = uneven_starts(kExperts, kRows, ++round);
                                                          kernels::grouped_forward(route, x, starts, stacked, {});
                                                          kernels::grouped_dgrad(route, dy, starts, stacked);
                                                          kernels::grouped_wgrad(route, dy, x, starts, stacked_grad);
                                                        },
                                                        [&] {
                                                          kernels::linear_forward(route, x, one);
                                                          kernels::linear_dgrad(route, dy, one);
                                                          kernels::linear_wgrad(route, dy, x, one_grad, true);
                                                        }});
  const double gflop = 6e-9 * kRows * kIn * kOut;
  return {.id = std::string("moe.grouped.") + name_of(dtype),
          .what = fmt::format("grouped product, forward, dgrad and wgrad, {}, {} experts, {} x {} x {}", name_of(dtype),
                              kExperts, kRows, kIn, kOut),
          .against = "one product of equal FLOPs",
          .ratio = seconds[1] / seconds[0],
          .target = 0.85,
          .detail = fmt::format("{:.0f} against {:.0f} GFLOP/s, uneven loads", gflop / seconds[0], gflop / seconds[1])};
}

constexpr int64_t kTopK = 2, kExpertWidth = 768;

spec::Model small_model(bool experts) {
  spec::Model model;
  model.hidden_size = 512;
  model.vocab_size = model.padded_vocab_size = 4096;
  model.max_positions = 512;
  spec::LayerSpec layer;
  layer.attention = {.num_heads = 8, .num_kv_heads = 4, .head_dim = 64, .softmax_scale = 0.125, .rope = spec::Rope{}};
  layer.mlp.ffn_size = kTopK * kExpertWidth;
  if (experts) {
    layer.moe = spec::Moe{.num_experts = 8, .top_k = kTopK, .expert = {.ffn_size = kExpertWidth}};
    layer.moe->router.balance_losses = {{.scope = spec::BalanceScope::MicroBatch, .coefficient = 0.01}};
  }
  model.layers.assign(4, layer);
  return model;
}

// Forward, backward and update of one batch.
class Step {
 public:
  Step(bool experts, spec::Dtype dtype, const nn::Routes& routes)
      : decoder_(small_model(experts), dtype, {}), routes_(routes) {
    decoder_.initialise(1);
    for (nn::Parameter* parameter : decoder_.parameters()) parameter->main_grad = at::zeros(parameter->shape());
    optimizer_ = std::make_unique<optim::Optimizer>(decoder_.parameters(), spec::Optimizer{});
  }

  void operator()() {
    const at::AutoGradMode with_gradients(true);
    const at::Tensor tokens = at::randint(0, decoder_.spec().vocab_size, {4, 512}, at::kLong);
    for (nn::Parameter* parameter : decoder_.parameters()) parameter->main_grad.zero_();
    const models::MicroBatch batch{tokens, tokens, at::full({4, 512}, 1.0 / 2048, at::kFloat)};
    decoder_.forward_backward(batch, {.routes = &routes_, .training = true});
    optimizer_->update({.lr = 1e-4, .embedding_and_head_lr = 1e-4});
  }

 private:
  models::Decoder decoder_;
  nn::Routes routes_;
  std::unique_ptr<optim::Optimizer> optimizer_;
};

Row step_row(const nn::Routes& routes, spec::Dtype dtype, int rounds) {
  Step experts(true, dtype, routes), dense(false, dtype, routes);
  const std::vector<double> seconds = best_seconds(rounds, {[&] { experts(); }, [&] { dense(); }});
  const char* name = dtype == spec::Dtype::Float32 ? "f32" : "bf16";
  return {.id = std::string("moe.step.") + name,
          .what = fmt::format("training step, 8 experts of {} top {}, 4 layers of 512, 4 x 512 tokens, {}",
                              kExpertWidth, kTopK, name),
          .against = "dense step of equal active FLOPs",
          .ratio = seconds[1] / seconds[0],
          .target = 0.7,
          .detail = fmt::format("{:.0f} against {:.0f} ms", 1e3 * seconds[0], 1e3 * seconds[1])};
}

}  // namespace

std::vector<Row> moe_rows(const Setup& setup) {
  const nn::Routes routes{.gemm = kernels::choose_gemm_route().route, .attention = {}};
  const int rounds = setup.is_smoke ? 1 : 8;
  return {grouped_row(routes.gemm, at::kFloat), grouped_row(routes.gemm, at::kBFloat16),
          step_row(routes, spec::Dtype::Float32, rounds), step_row(routes, spec::Dtype::BFloat16, rounds)};
}

// A file that the page cache holds, every byte into memory of our own.
std::vector<Row> load_rows(const Setup& setup) {
  constexpr double kTargetGbPerS = 5;
  const int64_t megabytes = setup.is_smoke ? 4 : 512;
  const fs::path file = fs::temp_directory_path() / fmt::format("primus-bench-{}.safetensors", ::getpid());
  const at::Tensor numbers = at::ones({megabytes, 1 << 18}, at::kFloat);
  {
    hub::SafetensorsWriter writer(file, {{"numbers", hub::Dtype::F32, numbers.sizes().vec()}});
    writer.append({static_cast<const std::byte*>(numbers.const_data_ptr()), numbers.nbytes()});
    writer.close();
  }
  const at::Tensor target = at::empty_like(numbers);
  const auto load = [&] {
    const hub::SafetensorsFile opened = value_or_throw(hub::SafetensorsFile::open(file));
    const auto bytes = opened.data(*opened.find("numbers"));
    target.copy_(at::from_blob(const_cast<std::byte*>(bytes.data()), numbers.sizes(), at::kFloat));
  };
  const std::vector<double> seconds = best_seconds(setup.is_smoke ? 1 : 5, {load});
  fs::remove(file);
  const double gb_per_s = 1e-9 * static_cast<double>(numbers.nbytes()) / seconds[0];
  return {{.id = "load.safetensors",
           .what = fmt::format("safetensors, {} MiB in the page cache, checked and copied", megabytes),
           .against = fmt::format("{:.0f} GB/s", kTargetGbPerS),
           .ratio = gb_per_s / kTargetGbPerS,
           .target = 1.0,
           .detail = fmt::format("{:.1f} GB/s", gb_per_s)}};
}

}  // namespace primus::bench
