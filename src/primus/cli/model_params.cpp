#include "primus/cli/model_params.h"

#include <fmt/format.h>
#include <ostream>

#include "primus/base/error.h"
#include "primus/base/strings.h"
#include "primus/cli/config_request.h"
#include "primus/hub/hf_config.h"
#include "primus/spec/model_size.h"

namespace primus::cli {
namespace {

// Published tables hold the vocabulary's rows; where only the padded size is known, that is the table.
spec::Model with_vocabulary(spec::Model model) {
  if (model.vocab_size == 0) model.vocab_size = model.padded_vocab_size;
  return model;
}

spec::Model described_model(const ConfigRequest& request, const std::string& hf, Context& context) {
  if (!hf.empty()) return value_or_throw(hub::read_hf_config(fs::path(hf))).model;
  const config::Experiment experiment = load_or_throw(request, context, request.config);
  return value_or_throw(describe_run(experiment, request.module)).model;
}

std::string line(const std::string& name, int64_t parameters, int64_t whole) {
  const double share = whole > 0 ? 100.0 * static_cast<double>(parameters) / static_cast<double>(whole) : 0;
  return fmt::format("  {:<16}{:>20}  {:>5.1f} %\n", name, format_thousands(parameters), share);
}

}  // namespace

Json model_params_json(const spec::Model& given) {
  const spec::Model model = with_vocabulary(given);
  const spec::ModelSize size = spec::count_parameters(model, /*padded=*/false);
  const spec::LayerParts parts = spec::count_layer_parts(model);
  const bool known = spec::has_known_size(model);
  const bool complete = known && model.vocab_size > 0;
  return {{"parameters", complete ? Json(size.total()) : Json(nullptr)},
          {"active", complete ? Json(size.active()) : Json(nullptr)},
          {"without_embedding", known ? Json(size.layers + size.mtp + size.final_norm) : Json(nullptr)},
          {"embedding", size.embedding},
          {"head", size.head},
          {"tied", model.tied_embeddings},
          {"vocabulary", model.vocab_size > 0 ? Json(model.vocab_size) : Json(nullptr)},
          {"layers", model.layers.size()},
          {"parts",
           {{"attention", known ? Json(parts.attention) : Json(nullptr)},
            {"other_mixers", parts.other_mixers},
            {"dense_mlp", parts.dense_mlp},
            {"experts", parts.experts},
            {"active_experts", parts.active_experts},
            {"shared_experts", parts.shared_experts},
            {"routers", parts.routers},
            {"norms", parts.norms},
            {"mtp", size.mtp},
            {"final_norm", size.final_norm}}}};
}

ExitCode run_model_params(Context& context) {
  std::string hf;
  ConfigOptions options("model params", "--config F [overrides] | --hf DIR [--format json]",
                        "model params: how many parameters a model has, and where they are");
  options.experiment().presets().formats({"text", "json"});
  options.text("--hf", hf, "a Hugging Face folder, or its config.json");
  if (!options.read(context)) return ExitCode::Ok;
  const ConfigRequest& request = options.request();
  if (request.config.empty() == hf.empty())
    throw bad_words("model params needs a model", "--config F names an experiment, --hf DIR a Hugging Face folder");
  const spec::Model model = described_model(request, hf, context);
  const Json facts = model_params_json(model);
  if (request.json()) {
    *context.out << dump_json(facts, 1) << '\n';
    return ExitCode::Ok;
  }
  const auto number = [](const Json& value) {
    return value.is_null() ? std::string("not known") : format_thousands(value.get<int64_t>());
  };
  const int64_t whole = facts.at("parameters").is_null() ? 0 : facts.at("parameters").get<int64_t>();
  std::ostream& out = *context.out;
  out << "parameters  " << number(facts.at("parameters")) << "\nactive      " << number(facts.at("active"))
      << "  (of one token)\n";
  const spec::ModelSize size = spec::count_parameters(with_vocabulary(model), false);
  out << line("embedding", size.embedding, whole);
  for (const auto& [name, value] : facts.at("parts").items())
    if (name != "active_experts" && !value.is_null() && value.get<int64_t>() > 0)
      out << line(name, value.get<int64_t>(), whole);
  out << (model.tied_embeddings ? "  head            the embedding's own table\n" : line("head", size.head, whole));
  if (facts.at("vocabulary").is_null()) out << "the tokenizer decides the vocabulary: its tables are not counted\n";
  if (!spec::has_known_size(model)) out << "some layers are of a kind whose size is not known here\n";
  return ExitCode::Ok;
}

}  // namespace primus::cli
