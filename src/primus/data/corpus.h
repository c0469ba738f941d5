// Text as documents: plain text or JSON lines, gzip-compressed or not, read in one pass with bounded memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "primus/base/result.h"

namespace primus::data {

enum class DocumentUnit { File, Paragraph, Line };
std::optional<DocumentUnit> parse_document_unit(const std::string& name);  // "file", "paragraph", "line"

struct CorpusOptions {
  std::vector<std::string> inputs;         // .jsonl and .jsonl.gz are JSON lines, everything else is text
  DocumentUnit unit = DocumentUnit::File;  // of text files; a line of JSON is always one document
  std::string json_key = "text";
};

struct Document {
  std::string text;
  size_t input = 0;  // number of the file
  int64_t line = 1;  // where it starts
  bool from_json = false;
  int64_t position_bytes = 0;  // of the files on disk, read so far
};

struct CorpusCounts {
  int64_t documents = 0;
  int64_t without_text = 0;  // JSON lines where the key is absent or null
};

// Everything that is wrong with the list of files, before anything is read: missing, empty list, formats not read here.
Diagnostics check_inputs(const CorpusOptions& options);
// Of all inputs as they lie on the disk.
int64_t total_size_bytes(const CorpusOptions& options);

class CorpusReader {
 public:
  explicit CorpusReader(CorpusOptions options);
  ~CorpusReader();
  CorpusReader(const CorpusReader&) = delete;
  CorpusReader& operator=(const CorpusReader&) = delete;

  // The next document, or false at the end. Lines end with \n or \r\n; a paragraph ends with an empty line; a byte
  // order mark at the start of a file is left out. Errors: InputError with file and line (the first ten bad lines of
  // JSON together), truncated or damaged gzip data, or a key that no line has.
  bool next(Document& document);

  const CorpusCounts& counts() const { return counts_; }
  // Bytes read so far of the files on disk, for progress.
  int64_t position_bytes() const;

 private:
  class File;
  bool next_of_file(Document& document);
  bool next_paragraph(Document& document);
  bool next_json(Document& document);
  bool parse_json_line(std::string& line, Document& document);
  void note_bad_line(std::string message);
  void throw_if_bad() const;

  CorpusOptions options_;
  size_t next_input_ = 0;
  int64_t finished_bytes_ = 0;
  std::unique_ptr<File> file_;
  CorpusCounts counts_;
  Diagnostics bad_lines_;
  std::vector<std::string> keys_seen_;  // of the first line without the wanted key
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace primus::data
