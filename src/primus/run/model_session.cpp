#include "primus/run/model_session.h"

#include <algorithm>
#include <fmt/format.h>
#include <ostream>

#include "primus/base/error.h"
#include "primus/base/json_file.h"
#include "primus/base/strings.h"
#include "primus/cli/resolve_run.h"
#include "primus/cli/train_hf.h"
#include "primus/hub/checkpoint_folder.h"
#include "primus/hub/hf_config.h"
#include "primus/hub/hf_import.h"
#include "primus/spec/engine_limits.h"
#include "primus/tensor/runtime.h"
#include "primus/tokenizer/find.h"
#include "primus/train/checkpointing.h"
#include "primus/train/hf_weights.h"
#include "primus/train/setup.h"

namespace primus::run {

namespace {

// Throws where the engine cannot compute the model; what only training needs does not matter here.
void check_model(const spec::Model& model) {
  spec::RunSpec run;
  run.model = model;
  const Diagnostics limits = spec::engine_limits(run);
  if (has_errors(limits)) throw InputError(limits);
}

void build(ModelSession& session, const spec::Model& model, spec::Dtype dtype) {
  check_model(model);
  session.decoder = std::make_unique<models::Decoder>(model, dtype, spec::Recompute{});
}

void allocate(models::Decoder& decoder, spec::Dtype dtype) {
  for (nn::Parameter* parameter : decoder.parameters()) parameter->allocate(dtype);
}

std::unique_ptr<tokenizer::Tokenizer> load_tokenizer(const std::string& path) {
  return value_or_throw(tokenizer::load_tokenizer(fs::path(path)));
}

void open_hf(ModelSession& session, const cli::ModelRequest& request, cli::Context& context, spec::Dtype dtype) {
  const hub::HfModel described = value_or_throw(hub::read_hf_config(fs::path(request.source.hf)));
  session.family = described.family;
  build(session, described.model, dtype);
  Result<hub::WeightSource> source = hub::WeightSource::open(request.source.hf, described.model, described.family);
  if (source.ok()) cli::print_findings(source.diagnostics(), context);
  const hub::WeightSource weights = value_or_throw(std::move(source));
  allocate(*session.decoder, dtype);
  train::read_hf_weights(*session.decoder, weights);
  session.tensors = weights.tensors();
  const bool packed = std::any_of(session.tensors.begin(), session.tensors.end(), [](const hub::HfTensor& tensor) {
    return tensor.storage != hub::HfStorage::Numbers;
  });
  // Numbers in blocks have no gradients of that form.
  if (packed) session.tensors = value_or_throw(hub::hf_weights(described.model, described.family));
  *context.err << weights.report().summary() << "\n";
}

// The first Hugging Face family that can hold the model.
void find_family(ModelSession& session, const spec::Model& model) {
  const Result<Json> config = hub::write_hf_config(model);
  if (!config.ok()) return;
  session.family = hub::hf_family_of(*config);
  session.tensors = value_or_throw(hub::hf_weights(model, session.family));
}

// Forced routing and places that run out belong to training: here the router decides, for every token.
void free_routers(spec::Model& model, cli::Context& context) {
  bool changed = false;
  for (spec::LayerSpec& layer : model.layers) {
    if (!layer.moe) continue;
    changed = changed || layer.moe->capacity || layer.moe->router.forced_balance != spec::ForcedBalance::None;
    layer.moe->capacity.reset();
    layer.moe->router.forced_balance = spec::ForcedBalance::None;
  }
  if (changed) *context.err << "routers decide freely here: forced balance and capacity belong to training\n";
}

spec::RunSpec described_run(cli::ConfigRequest request, cli::Context& context, ModelSession& session,
                            bool with_tokenizer) {
  const config::Experiment experiment = cli::load_or_throw(request, context, request.config);
  spec::RunSpec run = value_or_throw(cli::describe_run(experiment, request.module));
  if (with_tokenizer || run.model.vocab_size == 0) session.tokenizer = cli::finish_with_tokenizer(run, context);
  free_routers(run.model, context);
  return run;
}

void open_config(ModelSession& session, const cli::ModelRequest& request, cli::Context& context, spec::Dtype dtype,
                 bool with_tokenizer) {
  const spec::RunSpec run = described_run(request.source.config, context, session, with_tokenizer);
  find_family(session, run.model);
  build(session, run.model, dtype);
  session.decoder->initialise(static_cast<uint64_t>(run.seed));
}

void open_run(ModelSession& session, const cli::ModelRequest& request, cli::Context& context, spec::Dtype dtype,
              bool with_tokenizer) {
  const fs::path folder = request.source.run;
  cli::ConfigRequest config = request.source.config;
  config.config = (folder / "config/resolved.yaml").string();
  std::error_code code;
  if (!fs::exists(config.config, code)) {
    Diagnostic error = error_at({request.source.run}, "this is no run folder");
    error.expected = "a folder that a run has made, with config/resolved.yaml in it";
    throw InputError(error);
  }
  const hub::FoundCheckpoint checkpoint = value_or_throw(hub::find_checkpoint(folder));
  spec::RunSpec run = described_run(config, context, session, with_tokenizer);
  cli::take_vocabulary(run, checkpoint.manifest.state.model);
  find_family(session, run.model);
  build(session, run.model, dtype);
  allocate(*session.decoder, dtype);
  train::read_weights(*session.decoder, checkpoint);
  *context.err << fmt::format("weights of step {} from {}\n", checkpoint.manifest.state.step, checkpoint.path.string());
}

void need_tokenizer(ModelSession& session, const cli::ModelRequest& request) {
  if (!request.tokenizer.empty()) session.tokenizer = load_tokenizer(request.tokenizer);
  if (session.tokenizer) return;
  if (!request.source.hf.empty()) {
    session.tokenizer = load_tokenizer(request.source.hf);
    return;
  }
  Diagnostic error = error_at({}, "the experiment trains on mock data and has no tokenizer");
  error.suggestion = "--tokenizer PATH names one: a tokenizer.json, a SentencePiece model, a rank file, or a folder";
  throw InputError(error);
}

// What the folder's generation_config.json (else config.json) names, and the tokenizer's own.
std::vector<int64_t> find_end_tokens(const tokenizer::Tokenizer& tokenizer, const std::string& hf) {
  std::vector<int64_t> ids;
  std::error_code code;
  fs::path file = fs::path(hf) / "generation_config.json";
  if (!fs::exists(file, code)) file = fs::path(hf) / "config.json";
  if (!hf.empty()) ids = hub::token_ids_of(value_or_throw(read_json_file(file))).eos;
  if (tokenizer.special().eos) ids.push_back(*tokenizer.special().eos);
  if (tokenizer.special().eod) ids.push_back(*tokenizer.special().eod);
  return ids;
}

}  // namespace

ModelSession open_model(const cli::ModelRequest& request, cli::Context& context, bool with_tokenizer) {
  tensor::configure_allocator();
  const spec::Dtype dtype = request.dtype == "bf16" ? spec::Dtype::BFloat16 : spec::Dtype::Float32;
  ModelSession session;
  if (!request.source.hf.empty()) {
    open_hf(session, request, context, dtype);
  } else if (!request.source.run.empty()) {
    open_run(session, request, context, dtype, with_tokenizer && request.tokenizer.empty());
  } else {
    open_config(session, request, context, dtype, with_tokenizer && request.tokenizer.empty());
  }
  if (with_tokenizer) {
    need_tokenizer(session, request);
    session.end_tokens = find_end_tokens(*session.tokenizer, request.source.hf);
  }
  return session;
}

at::Tensor read_token_rows(const std::string& file, const spec::Model& model) {
  const auto refuse = [&](const std::string& message, const std::string& found) {
    Diagnostic error = error_at({file}, message);
    error.found = found;
    error.expected = R"({"input_ids": [[1, 2, 3], [4, 5, 6]]}: rows of one length, at least 2)";
    return InputError(error);
  };
  constexpr size_t kMostTokensBytes = 8 << 20;
  const Json json = value_or_throw(read_json_file(file, kMostTokensBytes));
  if (!json.is_object() || !json.contains("input_ids") || !json["input_ids"].is_array() || json["input_ids"].empty())
    throw refuse("no token ids", "");
  std::vector<int64_t> ids;
  const Json& rows = json["input_ids"];
  const size_t length = rows[0].is_array() ? rows[0].size() : 0;
  for (const Json& row : rows) {
    const std::string found = printable_ascii(row.dump()).substr(0, 80);
    if (!row.is_array()) throw refuse("a row that is no list of token ids", found);
    if (row.size() != length) throw refuse(fmt::format("rows of {} and of {} tokens", length, row.size()), found);
    if (length < 2) throw refuse("a row without a next token has no loss", found);
    for (const Json& id : row) {
      if (!id.is_number_integer()) throw refuse("a token id that is no whole number", printable_ascii(id.dump()));
      if (id.get<int64_t>() < 0 || id.get<int64_t>() >= model.vocab_size) {
        throw refuse(fmt::format("a token id outside of the vocabulary of {}", model.vocab_size),
                     printable_ascii(id.dump()).substr(0, 80));
      }
      ids.push_back(id.get<int64_t>());
    }
  }
  if (static_cast<int64_t>(length) > model.max_positions) {
    throw refuse(fmt::format("rows are longer than the model's {} positions", model.max_positions),
                 std::to_string(length));
  }
  return at::tensor(ids, at::kLong).view({static_cast<int64_t>(rows.size()), static_cast<int64_t>(length)});
}

models::MicroBatch next_token_batch(const at::Tensor& tokens) {
  const double count = static_cast<double>(tokens.size(0) * (tokens.size(1) - 1));
  models::MicroBatch batch{.tokens = tokens,
                           .labels = models::rolled_left(tokens, 0),
                           .weights = at::full(tokens.sizes(), 1 / count, at::kFloat),
                           .mean_of_its_own = true};
  batch.weights.select(1, tokens.size(1) - 1).zero_();
  return batch;
}

}  // namespace primus::run
