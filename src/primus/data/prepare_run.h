// What `train` does about data before a run starts: makes the files that the experiment says how to make.
#pragma once

#include <functional>
#include <string>

#include "primus/base/env.h"
#include "primus/base/fs.h"
#include "primus/base/log.h"
#include "primus/base/result.h"
#include "primus/data/prepare.h"
#include "primus/spec/run_spec.h"
#include "primus/tokenizer/find.h"

namespace primus::data {

// Every relative path of data, text and tokenizer that does not exist from the working folder, but does from
// base_folder, is replaced by the latter. Others stay as they are. To be called once, before prepare_if_missing and
// open_datasets.
void resolve_paths(spec::RunSpec& run, const fs::path& base_folder);

// The tokenizer of a run, as find_tokenizer takes it.
tokenizer::FindOptions tokenizer_options(const spec::RunSpec& run, Environment environment);

struct PrepareRunOptions {
  Environment environment = process_environment();  // where tokenizers are looked for
  std::function<bool()> stop_requested;
  int num_threads = 0;
};

// Does what run.data.prepare asks for, when files are missing or were made from something else (the record beside the
// training file, <prefix>.prepared.json, says from what; files without a record are the user's own and stay):
//  * trains a byte-level BPE on the training part of the text, when train_tokenizer_vocab_size > 0 and the tokenizer
//  file is
//    missing;
//  * writes the one file of train_data_path (or data_path) and, with valid_fraction > 0, that of valid_data_path. The
//  end
//    token follows each complete document where the tokenizer has one.
// Nothing to do: an empty report. Errors: as prepare(); paths that cannot be made (several files, no validation path).
Result<PrepareReport> prepare_if_missing(const spec::RunSpec& run, Logger& log, const PrepareRunOptions& options = {});

}  // namespace primus::data
