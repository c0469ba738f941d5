// Which routine multiplies matrices on this machine: measured once, remembered per CPU, library versions and threads.
#include <algorithm>
#include <chrono>

#include "primus/base/error.h"
#include "primus/base/json.h"
#include "primus/kernels/gemm.h"
#include "primus/kernels/gemm_tiled.h"
#include "primus/kernels/mkl_sum.h"
#include "primus/tensor/runtime.h"

namespace primus::kernels {
namespace {

constexpr int kRounds = 3;
constexpr double kMargin = 1.1;  // a near tie goes to the more exact or plainer way, which comes first in the list

struct Trial {
  at::ScalarType dtype;
  const char* name;
  GemmMethod GemmRoute::* slot;
  std::vector<GemmMethod> methods;
  int64_t rows, in, out;  // tokens, inputs, outputs of one linear layer
  double max_error;
};

struct Operands {
  at::Tensor x, w, dy;
};

// Reproducible without touching libtorch's generators: values in [-1, 1] from a linear congruence.
at::Tensor scattered(int64_t rows, int64_t columns, uint32_t seed) {
  at::Tensor t = at::empty({rows, columns}, at::kFloat);
  float* p = t.mutable_data_ptr<float>();
  uint32_t state = seed;
  for (int64_t i = 0; i < rows * columns; ++i) {
    state = state * 1664525u + 1013904223u;
    p[i] = static_cast<float>(static_cast<int32_t>(state)) * 0x1p-31f;
  }
  return t;
}

double relative_error(const at::Tensor& value, const at::Tensor& exact) {
  return ((value.to(at::kDouble) - exact).norm() / exact.norm()).item<double>();
}

// Forward and both gradients of one layer.
struct Products {
  at::Tensor y, dx, main_grad;
};

double run_once(const GemmRoute& route, const Operands& o, Products& to, bool accumulate = true) {
  const auto start = std::chrono::steady_clock::now();
  to.y = linear_forward(route, o.x, o.w);
  to.dx = linear_dgrad(route, o.dy, o.w);
  linear_wgrad(route, o.dy, o.x, to.main_grad, accumulate);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  return passed.count();
}

// f64 products by libtorch are the measure here; parity tests hold them against plain loops.
double worst_error(const Operands& o, const Products& products) {
  const at::Tensor x = o.x.to(at::kDouble), w = o.w.to(at::kDouble), dy = o.dy.to(at::kDouble);
  return std::max({relative_error(products.y, at::mm(x, w.t())), relative_error(products.dx, at::mm(dy, w)),
                   relative_error(products.main_grad, at::mm(dy.t(), x))});
}

// Candidates take turns, so that a disturbance from outside hits all of them; hopeless ones drop out after the first
// turn.
std::vector<GemmCandidate> run_trial(const Trial& trial, const GemmRoute& base) {
  const Operands o{scattered(trial.rows, trial.in, 1).to(trial.dtype),
                   scattered(trial.out, trial.in, 2).to(trial.dtype),
                   scattered(trial.rows, trial.out, 3).to(trial.dtype)};
  Products products;
  products.main_grad = at::zeros({trial.out, trial.in}, at::kFloat);
  std::vector<GemmCandidate> candidates;
  std::vector<double> seconds;
  const auto route_with = [&](GemmMethod method) {
    GemmRoute route = base;
    route.*trial.slot = method;
    return route;
  };
  for (const GemmMethod method : trial.methods) {
    if (method == GemmMethod::MklSum && !has_mkl_sum()) continue;
    if (method == GemmMethod::Tiled && !has_tiled_products(trial.dtype == at::kBFloat16)) continue;
    run_once(route_with(method), o, products, false);  // first calls build code and caches
    const double error = worst_error(o, products);
    candidates.push_back(
        {.dtype = trial.name, .method = method, .relative_error = error, .accepted = error < trial.max_error});
    seconds.push_back(run_once(route_with(method), o, products));
  }
  for (int round = 0; round < kRounds; ++round) {
    const double best = *std::min_element(seconds.begin(), seconds.end());
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (seconds[i] > 4 * best) continue;
      seconds[i] = std::min(seconds[i], run_once(route_with(candidates[i].method), o, products));
    }
  }
  for (size_t i = 0; i < candidates.size(); ++i) {
    candidates[i].gflops = 6e-9 * static_cast<double>(trial.rows * trial.in * trial.out) / seconds[i];
  }
  return candidates;
}

void measure(GemmChoice& choice) {
  const Trial trials[] = {
      {at::kFloat,
       "f32",
       &GemmRoute::f32,
       {GemmMethod::Aten, GemmMethod::Tiled, GemmMethod::OneDnn, GemmMethod::LinearPointwise},
       256,
       768,
       1024,
       2e-6},
      {at::kBFloat16,
       "bf16",
       &GemmRoute::bf16,
       {GemmMethod::Tiled, GemmMethod::MklSum, GemmMethod::Aten, GemmMethod::LinearPointwise, GemmMethod::ViaFloat32},
       256,
       768,
       1024,
       1e-2},
      {at::kHalf, "f16", &GemmRoute::f16, {GemmMethod::Aten, GemmMethod::ViaFloat32}, 64, 256, 256, 2e-3},
  };
  double* const gflops[] = {&choice.f32_gflops, &choice.bf16_gflops, &choice.f16_gflops};
  for (size_t i = 0; i < std::size(trials); ++i) {
    for (const GemmCandidate& candidate : run_trial(trials[i], choice.route)) {
      if (candidate.accepted && candidate.gflops > kMargin * *gflops[i]) {
        choice.route.*trials[i].slot = candidate.method;
        *gflops[i] = candidate.gflops;
      }
      choice.candidates.push_back(candidate);
    }
  }
}

// Raised whenever the candidates change, so that an older choice is measured again.
constexpr int kCandidateList = 3;

std::string cache_key() {
  const tensor::CpuFeatures& cpu = tensor::cpu_features();
  return cpu.model + " [" + cpu.to_string() + "], " + tensor::versions() + ", " +
         std::to_string(tensor::num_threads()) + " threads, list " + std::to_string(kCandidateList);
}

// The stored object of this machine, or nothing; `all` receives the whole file so that other machines' entries survive.
bool read_cache(const fs::path& file, const std::string& key, Json& all, GemmChoice& choice) {
  all = Json::object();
  if (!fs::exists(file)) return false;
  const Result<std::string> text = read_text_file(file);
  if (!text.ok()) return choice.note = "cannot read " + file.string() + ", measured again", false;
  Result<Json> json = parse_json(*text, file.string());
  if (!json.ok() || !json->is_object()) return choice.note = file.string() + " is damaged, measured again", false;
  all = *json;
  const auto found = all.find(key);
  if (found == all.end()) return false;
  const auto number = [&](const char* name) { return found->contains(name) && (*found)[name].is_number(); };
  if (!found->is_object() || !found->contains("route") || !(*found)["route"].is_string() || !number("f32_gflops") ||
      !number("bf16_gflops") || !number("f16_gflops")) {
    return choice.note = file.string() + " is damaged, measured again", false;
  }
  const Result<GemmRoute> route = GemmRoute::parse((*found)["route"].get<std::string>());
  if (!route.ok()) return choice.note = file.string() + " holds an unknown route, measured again", false;
  choice.route = *route;
  choice.f32_gflops = (*found)["f32_gflops"];
  choice.bf16_gflops = (*found)["bf16_gflops"];
  choice.f16_gflops = (*found)["f16_gflops"];
  return choice.from_cache = true;
}

}  // namespace

GemmChoice choose_gemm_route(const fs::path& cache_file) {
  GemmChoice choice;
  Json all = Json::object();
  const std::string key = cache_key();
  if (!cache_file.empty() && read_cache(cache_file, key, all, choice)) return choice;
  const at::NoGradGuard no_grad;
  measure(choice);
  if (cache_file.empty()) return choice;
  all[key] = {{"route", choice.route.to_string()},
              {"f32_gflops", choice.f32_gflops},
              {"bf16_gflops", choice.bf16_gflops},
              {"f16_gflops", choice.f16_gflops}};
  try {
    if (cache_file.has_parent_path()) create_folders(cache_file.parent_path());
    write_file_atomic(cache_file, dump_json(all, 2) + "\n");
  } catch (const RunError& error) {
    choice.note = std::string("the measured route was not stored: ") + error.what();
  }
  return choice;
}

}  // namespace primus::kernels
