#include "primus/hub/hf_export.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <unordered_map>

#include "primus/base/check.h"
#include "primus/base/strings.h"
#include "primus/hub/checkpoint_reader.h"
#include "primus/hub/dequantise.h"
#include "primus/hub/hf_config.h"
#include "primus/hub/hf_weights_naming.h"
#include "primus/hub/hf_weights_source.h"
#include "primus/hub/new_folder.h"

namespace primus::hub {

namespace {

const char* name_of(Dtype dtype) {
  if (dtype == Dtype::F32) return "float32";
  return dtype == Dtype::F16 ? "float16" : "bfloat16";
}

std::string key_of(const HfTensor& tensor, const std::string& piece) {
  return (tensor.buffer ? "buffer." : "master.") + piece;
}

const CheckpointTensor* find_tensor(const Manifest& manifest, const std::string& name) {
  const auto found = std::ranges::lower_bound(manifest.tensors, name, {}, &CheckpointTensor::name);
  return found != manifest.tensors.end() && found->name == name ? &*found : nullptr;
}

// The checkpoint against what the family wants, before a byte is read.
Diagnostics compare(const FoundCheckpoint& checkpoint, const ExportPlan& plan) {
  const Place place{checkpoint.path.string()};
  Diagnostics findings;
  std::set<std::string> used;
  std::vector<std::string> missing, lost, left_out;
  for (const HfTensor& tensor : plan.tensors) {
    for (const WeightPart& part : tensor.parts) {
      const std::string key = key_of(tensor, part.piece);
      const CheckpointTensor* found = find_tensor(checkpoint.manifest, key);
      if (!used.insert(key).second) continue;
      if (found == nullptr) {
        missing.push_back(key);
      } else if (found->shape != part.shape || !is_export_dtype(found->dtype)) {
        Diagnostic finding = error_at(place, fmt::format("'{}' is not the weight of this model", key));
        finding.found = fmt::format("{} {}", to_string(found->dtype), format_shape(found->shape));
        finding.expected = fmt::format("F32 {}", format_shape(part.shape));
        findings.push_back(std::move(finding));
      }
    }
  }
  for (const CheckpointTensor& tensor : checkpoint.manifest.tensors) {
    const bool is_weight = tensor.name.starts_with("master.") || tensor.name.starts_with("buffer.");
    if (is_weight && !used.contains(tensor.name))
      (tensor.name.starts_with("master.mtp.") || tensor.name.starts_with("buffer.mtp.") ? left_out : lost)
          .push_back(tensor.name);
  }
  if (!missing.empty())
    findings.push_back(error_at(place, fmt::format("the checkpoint lacks {} of the model's weights: {}", missing.size(),
                                                   first_names(missing))));
  if (!lost.empty())
    findings.push_back(error_at(place, fmt::format("the family {} has no tensor for {} weights: {}", plan.family,
                                                   lost.size(), first_names(lost))));
  if (!left_out.empty())
    findings.push_back(warning_at(place, fmt::format("left out, the family {} has no predictions of further tokens: {}",
                                                     plan.family, first_names(left_out))));
  return findings;
}

// A whole tensor of the checkpoint, row-major, as f32.
class PieceReader {
 public:
  explicit PieceReader(const FoundCheckpoint& checkpoint)
      : manifest_(checkpoint.manifest), reader_(checkpoint.path, checkpoint.manifest) {}

  void read(const std::string& key, std::span<float> out) {
    const CheckpointTensor* tensor = find_tensor(manifest_, key);
    PRIMUS_CHECK(tensor != nullptr, "'" + key + "' was there");
    const Box whole{std::vector<int64_t>(tensor->shape.size(), 0), tensor->shape};
    for (const CheckpointShard& shard : tensor->shards) {
      const std::span<const std::byte> bytes = whole_bytes(*tensor, shard);
      const std::byte* values = bytes.data();
      if (tensor->dtype != Dtype::F32) {
        widened_.resize(static_cast<size_t>(num_elements(shard.box)));
        StoredNumbers{.dtype = tensor->dtype, .bytes = bytes, .scales = {}}.read(0, std::span(widened_));
        values = reinterpret_cast<const std::byte*>(widened_.data());
      }
      copy_box(shard.box, shard.box, values, whole, reinterpret_cast<std::byte*>(out.data()), sizeof(float));
    }
  }

 private:
  std::span<const std::byte> whole_bytes(const CheckpointTensor& tensor, const CheckpointShard& shard) {
    const auto bytes = reader_.shard(tensor, shard);
    if (!bytes) throw RunError(render(bytes.diagnostics()));
    if (const Status status = reader_.check(tensor, shard, *bytes); !status)
      throw RunError(render(status.diagnostics()));
    return *bytes;
  }

  const Manifest& manifest_;
  CheckpointReader reader_;
  std::vector<float> widened_;
};

uint64_t bytes_of(const std::vector<TensorInfo>& tensors) {
  uint64_t sum = 0;
  for (const TensorInfo& tensor : tensors) sum += static_cast<uint64_t>(num_bytes(tensor.dtype, tensor.shape).value());
  return sum;
}

void write_weights(HfFolderWriter& writer, const FoundCheckpoint& checkpoint, const ExportPlan& plan,
                   const ExportOptions& options) {
  std::unordered_map<std::string, const HfTensor*> by_name;
  for (const HfTensor& tensor : plan.tensors) by_name.emplace(tensor.name, &tensor);
  PieceReader pieces(checkpoint);
  uint64_t done_bytes = 0;
  while (const TensorInfo* info = writer.next()) {
    const HfTensor& tensor = *by_name.at(info->name);
    const auto fetch = [&](const WeightPart& part, std::span<float> out) {
      pieces.read(key_of(tensor, part.piece), out);
    };
    const std::vector<std::byte> bytes = assemble(tensor, info->dtype, fetch);
    writer.append(bytes);
    done_bytes += bytes.size();
    if (options.progress) options.progress(done_bytes, writer.size_bytes());
  }
}

}  // namespace

Result<ExportPlan> plan_export(const spec::Model& model, const ExportOptions& options) {
  Result<Json> config = write_hf_config(model, options.family);
  if (!config) return config.diagnostics();
  ExportPlan plan;
  plan.config = std::move(config).value();
  plan.family = options.family.empty() ? hf_family_of(plan.config) : options.family;
  Result<std::vector<HfTensor>> tensors = hf_weights(model, plan.family);
  if (!tensors) return tensors.diagnostics();
  plan.tensors = std::move(tensors).value();
  plan.config["dtype"] = name_of(options.dtype);
  // A reader that finds no ids takes the family's own, which are those of another tokenizer.
  plan.config["bos_token_id"] = options.ids.bos ? Json(*options.ids.bos) : Json(nullptr);
  plan.config["eos_token_id"] = options.ids.eos.empty()       ? Json(nullptr)
                                : options.ids.eos.size() == 1 ? Json(options.ids.eos.front())
                                                              : Json(options.ids.eos);
  const bool has_predictions = std::ranges::any_of(
      plan.tensors, [](const HfTensor& tensor) { return tensor.parts.front().piece.starts_with("mtp."); });
  if (has_predictions) plan.config["num_nextn_predict_layers"] = model.mtp->depth;
  return plan;
}

Result<ExportReport> export_checkpoint(const FoundCheckpoint& checkpoint, const spec::Model& model,
                                       const fs::path& target, const ExportOptions& options) {
  PRIMUS_CHECK(is_export_dtype(options.dtype), "weights are exported as F32, BF16 or F16");
  Result<ExportPlan> plan = plan_export(model, options);
  if (!plan) return plan.diagnostics();
  Diagnostics findings = compare(checkpoint, *plan);
  const Status target_ok = check_target(target, options.folder.replace, "config.json");
  findings.insert(findings.end(), target_ok.diagnostics().begin(), target_ok.diagnostics().end());
  if (has_errors(findings)) return findings;
  std::vector<TensorInfo> infos;
  for (const HfTensor& tensor : plan->tensors) infos.push_back(tensor_info(tensor, options.dtype));
  require_space(target, bytes_of(infos));
  ExportReport report{.family = plan->family, .num_tensors = infos.size()};
  Result<HfFolderWriter> writer = HfFolderWriter::create(target, std::move(infos), options.folder);
  if (!writer) return writer.diagnostics();
  write_weights(*writer, checkpoint, *plan, options);
  writer->write_json("config.json", plan->config);
  writer->write_generation_config(options.ids);
  if (!options.tokenizer.empty()) report.tokenizer_files = writer->copy_tokenizer(options.tokenizer);
  std::erase(report.tokenizer_files, "generation_config.json");  // copied, but no tokenizer
  writer->finish();
  report.num_shards = writer->num_shards();
  report.size_bytes = writer->size_bytes();
  return {std::move(report), std::move(findings)};
}

}  // namespace primus::hub
