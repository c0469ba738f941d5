// llama_124M against PyTorch: one step of 1 x 1,024 tokens, fp32 and bf16 mixed. Ours and theirs take turns; the best
// turn's median step counts. Speed is group b, peak memory group f, from the same runs.
#include <algorithm>
#include <fmt/format.h>

#include "bench/bench.h"
#include "bench/contenders.h"
#include "bench/process.h"

namespace primus::bench {
namespace {

constexpr const char* kExperiment = "examples/megatron/configs/CPU/llama_124M-BF16-pretrain.yaml";
constexpr double kTokens = 1024;

struct Peer {
  std::string id;    // behind the precision: "b.llama.bf16.compile"
  std::string mode;  // of llama_step.py
  bool uses_switch;  // with the BLAS switch of our own programs
  std::string against;
  std::optional<double> target;
};

struct Precision {
  std::string name;
  std::vector<Peer> peers;
  double flops_target;  // share of the probe
};

// One contender over its turns.
struct Side {
  Turns step_s;
  int64_t peak_bytes = 0;
  double gflop_per_step = 0;  // ours only
  double mm_gflops = 0;       // theirs only: torch's own fp32 product
  std::string versions;
  double tokens_per_s() const { return kTokens / step_s.best(); }
};

Precision fp32() {
  return {"fp32",
          {{"eager", "fp32", false, "PyTorch eager", 1.0},
           {"same-switch", "fp32", true, "PyTorch eager, same BLAS switch", {}}},
          0.80};
}

Precision bf16() {
  return {"bf16",
          {{"compile", "bf16_compile", false, "PyTorch autocast, torch.compile", 1.2},
           {"eager", "bf16", false, "PyTorch autocast, eager", 1.0},
           {"same-switch", "bf16_compile", true, "PyTorch autocast, torch.compile, same BLAS switch", {}}},
          0.70};
}

void run_ours(const Precision& precision, const Setup& setup, Side& side) {
  std::vector<std::string> overrides{
      "mock_data=true",    "vocab_size=31999", "save=None",     "auto_continue_train=false",
      "lr_warmup_iters=1", "eval_iters=0",     "log_interval=1"};
  overrides.push_back(setup.is_smoke ? "train_iters=3" : "train_iters=9");
  if (precision.name == "fp32") overrides.push_back("bf16=false");
  const Result<TrainingRun> run = train(kExperiment, overrides, setup.threads);
  if (!run.ok()) {
    side.step_s.why_not = reason(run.diagnostics());
    return;
  }
  side.step_s.values.push_back(run->median_step_s());
  side.peak_bytes = std::max(side.peak_bytes, run->peak_bytes);
  side.gflop_per_step = run->model_gflops.back() * run->step_s.back();
}

void run_theirs(const Peer& peer, const Setup& setup, Side& side) {
  if (!side.step_s.why_not.empty()) return;  // failed in an earlier turn
  std::vector<std::string> arguments{
      "--mode", peer.mode, "--threads", std::to_string(setup.threads), "--steps", setup.is_smoke ? "1" : "7"};
  if (peer.uses_switch)
    arguments.insert(arguments.end(), {"--mkl-switch", beside_this_program("libmkl_switch.so").string()});
  const Result<Json> line = run_peer("llama_step.py", arguments);
  if (!line.ok()) {
    side.step_s.why_not = reason(line.diagnostics());
    return;
  }
  side.step_s.values.push_back((*line)["median_step_s"]);
  side.peak_bytes = std::max(side.peak_bytes, (*line)["peak_memory_bytes"].get<int64_t>());
  side.mm_gflops = std::max(side.mm_gflops, (*line)["mm_gflops"].get<double>());
  side.versions = fmt::format("torch {}, transformers {}", (*line)["torch"].get<std::string>(),
                              (*line)["transformers"].get<std::string>());
}

Row speed_row(const Precision& precision, const Peer& peer, const Side& ours, const Side& theirs, const Setup& setup) {
  Row row{.id = fmt::format("b.llama.{}.{}", precision.name, peer.id),
          .what = fmt::format("llama_124M, {}, 1 x 1,024 tokens a step, tokens/s", precision.name),
          .against = peer.against,
          .target = peer.target};
  if (!ours.step_s.ok() || !theirs.step_s.ok()) {
    row.detail = ours.step_s.ok() ? theirs.step_s.why_not : ours.step_s.why_not;
    return row;
  }
  row.ratio = theirs.step_s.best() / ours.step_s.best();
  row.is_stable = ours.step_s.are_stable() && theirs.step_s.are_stable();
  row.detail =
      fmt::format("{:.0f} against {:.0f} tok/s, {}", ours.tokens_per_s(), theirs.tokens_per_s(), theirs.versions);
  if (peer.mode == "fp32" && peer.target) {
    // Where torch's BLAS is slow on this machine, twice its speed is there for the taking.
    const bool torch_is_slow = theirs.mm_gflops < 0.6 * setup.peaks.f32_gflops;
    row.target = torch_is_slow ? 2.0 : 1.0;
    row.detail += fmt::format("; torch's own product: {:.0f} GFLOP/s, {}", theirs.mm_gflops,
                              torch_is_slow ? "slow here" : "near the probe");
  }
  return row;
}

Row flops_row(const Precision& precision, const Side& ours, const Setup& setup) {
  Row row{.id = fmt::format("b.llama.{}.flops", precision.name),
          .what = fmt::format("llama_124M, {}, model FLOP/s", precision.name),
          .against = "multiply-add probe",
          .target = precision.flops_target};
  const double peak = precision.name == "fp32" ? setup.peaks.f32_gflops : setup.peaks.bf16_gflops.value_or(0);
  if (!ours.step_s.ok() || peak <= 0) {
    row.detail = ours.step_s.ok() ? "this CPU has no bf16 dot product to probe" : ours.step_s.why_not;
    return row;
  }
  const double gflops = ours.gflop_per_step / ours.step_s.best();
  row.ratio = gflops / peak;
  row.is_stable = ours.step_s.are_stable();
  row.detail = fmt::format("{:.0f} of {:.0f} GFLOP/s, {:.0f} ms a step", gflops, peak, 1e3 * ours.step_s.best());
  return row;
}

Row memory_row(const Precision& precision, const Side& ours, const std::vector<Side>& theirs) {
  Row row{.id = fmt::format("f.memory.{}", precision.name),
          .what = fmt::format("llama_124M, {}, peak resident memory", precision.name),
          .against = "the leanest PyTorch run of these",
          .target = 1.0,
          .at_least = false};
  int64_t leanest = 0;
  for (const Side& side : theirs) {
    if (side.step_s.ok()) leanest = leanest == 0 ? side.peak_bytes : std::min(leanest, side.peak_bytes);
  }
  if (!ours.step_s.ok() || leanest == 0) {
    row.detail = ours.step_s.ok() ? theirs.front().step_s.why_not : ours.step_s.why_not;
    return row;
  }
  row.ratio = static_cast<double>(ours.peak_bytes) / static_cast<double>(leanest);
  row.detail = fmt::format("{:.2f} against {:.2f} GB", 1e-9 * static_cast<double>(ours.peak_bytes),
                           1e-9 * static_cast<double>(leanest));
  return row;
}

void add_rows(const Precision& precision, const Setup& setup, std::vector<Row>& rows) {
  Side ours;
  std::vector<Side> theirs(precision.peers.size());
  for (int turn = 0; turn < setup.turns(); ++turn) {
    run_ours(precision, setup, ours);
    for (size_t i = 0; i < theirs.size(); ++i) run_theirs(precision.peers[i], setup, theirs[i]);
  }
  for (size_t i = 0; i < theirs.size(); ++i) {
    rows.push_back(speed_row(precision, precision.peers[i], ours, theirs[i], setup));
  }
  rows.push_back(flops_row(precision, ours, setup));
  rows.push_back(memory_row(precision, ours, theirs));
}

}  // namespace

std::vector<Row> llama_rows(const Setup& setup) {
  std::vector<Row> rows;
  for (const Precision& precision : {fp32(), bf16()}) add_rows(precision, setup, rows);
  return rows;
}

}  // namespace primus::bench
