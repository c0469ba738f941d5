#include "primus/train/hf_export.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <set>
#include <unordered_map>

#include "primus/base/check.h"
#include "primus/base/strings.h"
#include "primus/hub/checkpoint_folder.h"
#include "primus/hub/new_folder.h"
#include "primus/train/hf_weights.h"

namespace primus::train {

namespace {

hub::Dtype dtype_of(const spec::Precision& precision) {
  if (precision.stored == spec::Dtype::BFloat16 || precision.compute == spec::Dtype::BFloat16) return hub::Dtype::BF16;
  return precision.compute == spec::Dtype::Float16 ? hub::Dtype::F16 : hub::Dtype::F32;
}

bool is_prediction(const std::string& piece) {
  return piece.starts_with("mtp.");
}

}  // namespace

fs::path exports_folder(const fs::path& run_folder) {
  return run_folder / "hf";
}

HfExporter::HfExporter(Trainer& trainer, const HfExportOptions& options)
    : trainer_(trainer),
      tokenizer_(options.tokenizer),
      ids_(options.ids),
      dtype_(dtype_of(trainer.spec.precision)),
      plan_(value_or_throw(
          hub::plan_export(trainer.spec.model, {.family = options.family, .dtype = dtype_, .ids = options.ids}))) {
  check_pieces();
}

// Every weight of the family is one of the model's and the other way round; predictions of further tokens may be left
// out.
void HfExporter::check_pieces() const {
  std::set<std::string> wanted, lost;
  for (const hub::HfTensor& tensor : plan_.tensors)
    for (const hub::WeightPart& part : tensor.parts) wanted.insert(part.piece);
  const auto take = [&](const std::string& piece) {
    if (wanted.erase(piece) == 0) lost.insert(piece);
  };
  for (const nn::Parameter* parameter : trainer_.model.parameters())
    for (const nn::Piece& piece : parameter->pieces()) take(piece.name);
  for (const models::Buffer& buffer : trainer_.model.buffers()) take(buffer.name);
  const bool only_predictions = std::ranges::all_of(lost, is_prediction);
  if (only_predictions && !lost.empty()) {
    trainer_.log.warning(fmt::format(
        "exports leave out the predictions of further tokens: the Hugging Face family {} has none", plan_.family));
  }
  if (wanted.empty() && only_predictions) return;
  Diagnostic finding =
      error_at({}, fmt::format("the Hugging Face family {} has other weights than this model", plan_.family));
  finding.key = "export_every";
  finding.found = join({lost.begin(), lost.end()}, ", ");
  finding.expected = join({wanted.begin(), wanted.end()}, ", ");
  throw InputError(finding);
}

fs::path HfExporter::folder_of(int64_t step) const {
  return exports_folder(trainer_.spec.identity.run_folder) / hub::step_folder_name(step);
}

bool HfExporter::has(int64_t step) const {
  std::error_code code;
  return fs::exists(folder_of(step) / "config.json", code);
}

void HfExporter::write() {
  const fs::path target = folder_of(trainer_.state.step);
  const auto start = std::chrono::steady_clock::now();
  try {
    write_folder(target);
  } catch (const std::exception& error) {
    ++num_failed_;
    trainer_.log.error(fmt::format("the export of step {} to {} failed, training goes on without it: {}",
                                   trainer_.state.step, target.string(), error.what()));
    return;
  }
  ++num_written_;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  trainer_.log.info(fmt::format("exported step {} to {} ({}, {:.1f} s)", trainer_.state.step, target.string(),
                                plan_.family, seconds));
}

void HfExporter::write_folder(const fs::path& target) {
  create_folders(target.parent_path());
  std::vector<hub::TensorInfo> infos;
  std::unordered_map<std::string, const hub::HfTensor*> by_name;
  uint64_t size_bytes = 0;
  for (const hub::HfTensor& tensor : plan_.tensors) {
    infos.push_back(hub::tensor_info(tensor, dtype_));
    by_name.emplace(tensor.name, &tensor);
    size_bytes += static_cast<uint64_t>(hub::num_bytes(infos.back().dtype, infos.back().shape).value());
  }
  hub::require_space(target, size_bytes);
  hub::HfFolderWriter writer = value_or_throw(hub::HfFolderWriter::create(target, std::move(infos), {.replace = true}));
  const hub::FetchPiece weights = piece_values(trainer_.model, PieceValues::Computed);
  while (const hub::TensorInfo* info = writer.next())
    writer.append(hub::assemble(*by_name.at(info->name), info->dtype, weights));
  writer.write_json("config.json", plan_.config);
  writer.write_generation_config(ids_);
  if (!tokenizer_.empty()) writer.copy_tokenizer(tokenizer_);
  writer.finish();
}

}  // namespace primus::train
