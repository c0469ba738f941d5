#include "primus/hub/hf_folder_check.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "primus/base/strings.h"
#include "primus/hub/hf_config.h"

namespace primus::hub {

namespace {

constexpr int64_t kCheckedAtOnce = int64_t{1} << 20;
constexpr size_t kMostBadTensors = 40;

struct Count {
  int64_t nan = 0, infinite = 0;
  std::string first;  // where the first of them is
};

void look_at(const WeightSource& source, const WeightPart& part, Count& count) {
  const int64_t cols = std::max<int64_t>(1, part.cols());
  const int64_t batch = std::max<int64_t>(64, kCheckedAtOnce / cols);
  std::vector<float> values;
  for (int64_t begin = 0; begin < part.rows(); begin += batch) {
    const int64_t end = std::min(part.rows(), begin + batch);
    values.resize(static_cast<size_t>((end - begin) * part.cols()));
    source.read_rows(part.piece, begin, end, std::span(values));
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::isfinite(values[i])) continue;
      ++(std::isnan(values[i]) ? count.nan : count.infinite);
      if (!count.first.empty()) continue;
      const auto at = static_cast<int64_t>(i);
      count.first = fmt::format("{} [{}, {}]", part.piece, begin + at / cols, at % cols);
    }
  }
}

void check_values(const WeightSource& source, HfFolderCheck& check, const fs::path& folder,
                  const std::function<void(uint64_t, uint64_t)>& progress) {
  size_t num_bad = 0;
  uint64_t done = 0;
  for (const HfTensor& tensor : source.tensors()) {
    Count count;
    uint64_t elements = 1;
    for (const int64_t size : tensor.shape) elements *= static_cast<uint64_t>(size);
    for (const WeightPart& part : tensor.parts) look_at(source, part, count);
    done += elements * static_cast<uint64_t>(bits_of(source.stored_dtype(tensor.parts.front().piece))) / 8;
    if (progress) progress(std::min(done, source.report().loaded_bytes), source.report().loaded_bytes);
    if (count.nan + count.infinite == 0 || ++num_bad > kMostBadTensors) continue;
    Diagnostic finding = error_at({folder.string()}, fmt::format("'{}' holds numbers that are none", tensor.name));
    finding.found = fmt::format("{} NaN, {} infinite; the first at {}", count.nan, count.infinite, count.first);
    check.findings.push_back(std::move(finding));
  }
  if (num_bad > kMostBadTensors)
    check.findings.push_back(
        error_at({folder.string()}, fmt::format("{} more tensors hold NaN or infinities", num_bad - kMostBadTensors)));
}

}  // namespace

bool is_hf_folder(const fs::path& folder) {
  std::error_code code;
  for (const char* name : {"config.json", "model.safetensors", "model.safetensors.index.json"})
    if (fs::is_regular_file(folder / name, code)) return true;
  return false;
}

HfFolderCheck check_hf_folder(const fs::path& folder, bool values,
                              const std::function<void(uint64_t, uint64_t)>& progress) {
  HfFolderCheck check;
  Result<HfModel> model = read_hf_config(folder);
  check.findings = model.diagnostics();
  if (!model) return check;
  check.family = model->family;
  Result<WeightSource> source = WeightSource::open(folder, model->model, model->family);
  check.findings.insert(check.findings.end(), source.diagnostics().begin(), source.diagnostics().end());
  if (!source) return check;
  check.report = source->report();
  if (values) check_values(*source, check, folder, progress);
  return check;
}

}  // namespace primus::hub
