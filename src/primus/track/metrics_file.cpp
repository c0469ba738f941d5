// metrics.jsonl: one JSON object a line, appended and flushed.
#include <cstdio>

#include "primus/base/error.h"
#include "primus/base/json.h"
#include "primus/track/metrics.h"

namespace primus::track {

namespace {

// The lines that stay on a resume: complete objects of steps up to resume_step.
std::string kept_lines(const fs::path& path, int64_t resume_step) {
  if (resume_step <= 0 || !fs::exists(path)) return {};
  std::string kept;
  const std::string text = value_or_throw(read_text_file(path));
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;  // a torn last line
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    const Result<Json> row = parse_json(line, path.string());
    if (!row.ok() || !row->contains("step") || !(*row)["step"].is_number() ||
        (*row)["step"].get<int64_t>() > resume_step)
      continue;
    kept.append(line).push_back('\n');
  }
  return kept;
}

class MetricsFile : public Sink {
 public:
  MetricsFile(const fs::path& path, int64_t resume_step) : path_(path) {
    create_folders(path.parent_path());
    write_file_atomic(path, kept_lines(path, resume_step));
    file_ = std::fopen(path.c_str(), "a");
    if (file_ == nullptr) throw RunError("cannot append to '" + path.string() + "'");
  }
  ~MetricsFile() override { std::fclose(file_); }
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  void on_step(const StepRow& row) override {
    Json line = {{"step", row.step},
                 {"loss", json_number(row.loss)},
                 {"grad_norm", json_number(row.grad_norm)},
                 {"lr", row.lr},
                 {"tokens", row.tokens},
                 {"step_ms", row.step_ms},
                 {"tokens_per_s", row.tokens_per_s},
                 {"model_flops", row.model_flops},
                 {"mfu", row.mfu ? Json(*row.mfu) : Json(nullptr)},
                 {"skipped", row.skipped},
                 {"nan", row.nan},
                 {"global_batch_size", row.global_batch_size},
                 {"samples", row.samples}};
    for (const auto& [name, value] : row.extra) line[name] = json_number(value);
    append(line);
  }

  void on_eval(const EvalRow& row) override {
    append({{"step", row.step}, {row.name.empty() ? "val_loss" : "val_loss." + row.name, json_number(row.loss)}});
  }

 private:
  void append(const Json& line) {
    const std::string text = dump_json(line) + "\n";
    if (std::fwrite(text.data(), 1, text.size(), file_) != text.size() || std::fflush(file_) != 0) {
      throw RunError("cannot append to '" + path_.string() + "': the disk may be full");
    }
  }

  fs::path path_;
  std::FILE* file_ = nullptr;
};

}  // namespace

std::unique_ptr<Sink> open_metrics_file(const fs::path& path, int64_t resume_step) {
  return std::make_unique<MetricsFile>(path, resume_step);
}

}  // namespace primus::track
