// Stored tensors that are no weights, and whether parts fill their tensor.
#include <fmt/format.h>

#include "primus/base/strings.h"
#include "primus/hub/dtype.h"
#include "primus/hub/hf_weights.h"
#include "primus/hub/hf_weights_naming.h"

namespace primus::hub {

namespace {

// Number of the layer in "model.layers.12.x", whatever stands in front; nothing for other names.
std::optional<int64_t> layer_of(const std::string& name, std::string& prefix) {
  const size_t at = name.find("layers.");
  if (at == std::string::npos) return std::nullopt;
  const size_t begin = at + 7, end = name.find('.', begin);
  if (end == std::string::npos) return std::nullopt;
  prefix = name.substr(0, end + 1);
  return parse_int(std::string_view(name).substr(begin, end - begin));
}

}  // namespace

std::optional<HfExtra> hf_extra(const spec::Model& model, std::string_view family, const std::string& name,
                                const HasTensor& has) {
  const HfNaming* naming = find_hf_naming(family);
  if (naming == nullptr) return std::nullopt;
  const std::string_view kind = naming->family;
  if (name.ends_with(".rotary_emb.inv_freq")) return HfExtra{"frequencies follow from config.json", ""};
  if (kind == "gpt2" && (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias")))
    return HfExtra{"the causal mask", ""};
  if (kind.starts_with("qwen3") && naming->gate_in_queries && name.starts_with("mtp."))
    return HfExtra{"of predictions that this model does not make", ""};
  if (kind == "llama4_text" || kind.starts_with("qwen3_5"))
    for (const char* part : {"vision_model.", "multi_modal_projector.", "visual."})
      if (name.starts_with(part) || name.starts_with(std::string("model.") + part))
        return HfExtra{"of a multimodal model only the text half is taken", ""};
  if (model.tied_embeddings)
    for (const std::string& head : hf_spellings(*naming, "lm_head.weight"))
      if (name == head) return HfExtra{"the head is the embedding", "embed.weight"};
  std::string prefix;
  const auto layer = naming->further_predictions ? layer_of(name, prefix) : std::nullopt;
  const auto first = static_cast<int64_t>(model.layers.size());
  if (!layer || *layer < first || !has(prefix + "eh_proj.weight")) return std::nullopt;
  if (!model.mtp || *layer >= first + model.mtp->depth)
    return HfExtra{"a layer for predictions that this model does not make", ""};
  const std::string_view rest = std::string_view(name).substr(prefix.size());
  if (rest == "embed_tokens.weight") return HfExtra{"the model's own embedding", "embed.weight"};
  if (rest == "shared_head.head.weight")
    return HfExtra{"the model's own head", model.tied_embeddings ? "embed.weight" : "head.weight"};
  return std::nullopt;
}

std::string coverage_fault(const HfTensor& tensor) {
  const auto count = num_elements(tensor.shape);
  if (!count) return "the shape " + format_shape(tensor.shape) + " is impossible";
  std::vector<bool> seen(static_cast<size_t>(*count));
  int64_t covered = 0;
  for (const WeightPart& part : tensor.parts)
    for (int64_t r = 0; r < part.rows(); ++r)
      for (int64_t c = 0; c < part.cols(); ++c) {
        const int64_t at = part.row_start(r) + c * part.col_stride;
        if (at < 0 || at >= *count) return fmt::format("'{}' reaches out of '{}'", part.piece, tensor.name);
        if (seen[static_cast<size_t>(at)])
          return fmt::format("element {} of '{}' is taken twice, last by '{}'", at, tensor.name, part.piece);
        seen[static_cast<size_t>(at)] = true;
        ++covered;
      }
  if (covered == *count) return {};
  return fmt::format("the parts of '{}' hold {} of its {} elements", tensor.name, covered, *count);
}

}  // namespace primus::hub
