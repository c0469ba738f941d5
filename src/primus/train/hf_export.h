// Hugging Face folders of a model in training: <run folder>/hf/step_<N>, complete or not there.
#pragma once

#include <string>

#include "primus/hub/hf_export.h"
#include "primus/train/trainer.h"

namespace primus::train {

fs::path exports_folder(const fs::path& run_folder);

struct HfExportOptions {
  std::string family;   // empty: the first that can hold the model
  fs::path tokenizer;   // folder whose tokenizer files are copied, or one file; empty: none
  hub::HfTokenIds ids;  // for config.json and generation_config.json
};

// Belongs to rank 0, which has every row of the compute copies.
class HfExporter {
 public:
  // Numbers are written as they are computed with: fp32, bf16 or fp16; bf16 also where weights are stored so.
  // Throws InputError when no family can hold the model, or this one cannot.
  HfExporter(Trainer& trainer, const HfExportOptions& options);

  // Writes the weights of the step that was done last; an older folder of that step gives way. A failure is logged, and
  // training goes on without the folder. Memory: one tensor.
  void write();
  bool has(int64_t step) const;  // a folder of this step is there

  int64_t num_written() const { return num_written_; }
  int64_t num_failed() const { return num_failed_; }

 private:
  void write_folder(const fs::path& target);
  fs::path folder_of(int64_t step) const;
  void check_pieces() const;

  Trainer& trainer_;
  fs::path tokenizer_;
  hub::HfTokenIds ids_;
  hub::Dtype dtype_;
  hub::ExportPlan plan_;
  int64_t num_written_ = 0, num_failed_ = 0;
};

}  // namespace primus::train
