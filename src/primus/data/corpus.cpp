#include "primus/data/corpus.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <simdjson.h>
#include <zlib.h>

#include "primus/base/error.h"
#include "primus/base/fs.h"
#include "primus/base/json.h"
#include "primus/base/strings.h"

namespace primus::data {

namespace {

constexpr size_t kReadBytes = 1 << 18;
constexpr size_t kMostBadLines = 10;

bool is_json_lines(const std::string& path) {
  return path.ends_with(".jsonl") || path.ends_with(".jsonl.gz");
}

}  // namespace

std::optional<DocumentUnit> parse_document_unit(const std::string& name) {
  if (name == "file") return DocumentUnit::File;
  if (name == "paragraph") return DocumentUnit::Paragraph;
  if (name == "line") return DocumentUnit::Line;
  return std::nullopt;
}

Diagnostics check_inputs(const CorpusOptions& options) {
  Diagnostics findings;
  if (options.inputs.empty()) findings.push_back(error_at({}, "no text to prepare is given"));
  for (const std::string& input : options.inputs) {
    std::error_code code;
    if (!fs::exists(input, code)) {
      findings.push_back(error_at({input}, "the text file does not exist"));
    } else if (!fs::is_regular_file(input, code)) {
      findings.push_back(error_at({input}, "this is not a regular file"));
    }
    for (const char* ending :
         {".parquet", ".zst", ".xz", ".bz2", ".zip", ".tar", ".tar.gz", ".arrow", ".bin", ".idx"}) {
      if (!input.ends_with(ending)) continue;
      Diagnostic diagnostic = error_at({input}, fmt::format("'{}' files cannot be read here", ending));
      diagnostic.expected = ".txt, .jsonl, or either of them with .gz";
      findings.push_back(std::move(diagnostic));
      break;
    }
  }
  return findings;
}

int64_t total_size_bytes(const CorpusOptions& options) {
  int64_t total = 0;
  for (const std::string& input : options.inputs) {
    std::error_code code;
    const auto size = fs::file_size(input, code);
    if (!code) total += static_cast<int64_t>(size);
  }
  return total;
}

// One open file, plain or gzip (zlib tells them apart), cut into lines.
class CorpusReader::File {
 public:
  File(std::string path, size_t input)
      : path_(std::move(path)), input_(input), file_(gzopen(path_.c_str(), "rbe"), &gzclose) {
    if (file_ == nullptr)
      throw InputError(error_at({path_}, fmt::format("cannot read the file: {}", std::strerror(errno))));
    gzbuffer(file_.get(), kReadBytes);
    refill();
    if (path_.ends_with(".gz") && !buffer_.empty() && gzdirect(file_.get()) != 0)
      throw InputError(error_at({path_}, "the name ends in .gz, and the file is not compressed by gzip"));
    if (buffer_.starts_with("\xEF\xBB\xBF")) at_ = 3;
  }

  // The next line without its end; false at the end of the file. Appends to `line`.
  bool append_line(std::string& line) {
    bool any = false;
    while (at_ < buffer_.size() || refill()) {
      any = true;
      const size_t end = buffer_.find('\n', at_);
      if (end == std::string::npos) {
        line.append(buffer_, at_);
        at_ = buffer_.size();
        continue;
      }
      line.append(buffer_, at_, end - at_);
      at_ = end + 1;
      break;
    }
    if (any && !line.empty() && line.back() == '\r') line.pop_back();
    line_ += any ? 1 : 0;
    return any;
  }

  // Everything that is left.
  void append_rest(std::string& text) {
    do {
      text.append(buffer_, at_);
      at_ = buffer_.size();
    } while (refill());
  }

  int64_t line() const { return line_; }  // number of the last line read
  size_t input() const { return input_; }
  const std::string& path() const { return path_; }
  int64_t position_bytes() const { return gzoffset(file_.get()); }

 private:
  bool refill() {
    buffer_.resize(kReadBytes);
    const int got = gzread(file_.get(), buffer_.data(), kReadBytes);
    int code = Z_OK;
    const char* message = gzerror(file_.get(), &code);
    if (got < 0 || (code != Z_OK && code != Z_STREAM_END)) {
      const std::string why = code == Z_BUF_ERROR ? "it ends in the middle" : message;
      throw InputError(error_at({path_}, fmt::format("cannot read the compressed file: {}", why)));
    }
    buffer_.resize(static_cast<size_t>(got));
    at_ = 0;
    return got > 0;
  }

  std::string path_;
  size_t input_;
  std::unique_ptr<std::remove_pointer_t<gzFile>, int (*)(gzFile)> file_;  // closed too when the first read fails
  std::string buffer_;
  size_t at_ = 0;
  int64_t line_ = 0;
};

struct CorpusReader::Parser {
  simdjson::dom::parser parser;
};

CorpusReader::CorpusReader(CorpusOptions options) : options_(std::move(options)), parser_(std::make_unique<Parser>()) {}
CorpusReader::~CorpusReader() = default;

int64_t CorpusReader::position_bytes() const {
  return finished_bytes_ + (file_ ? file_->position_bytes() : 0);
}

bool CorpusReader::next(Document& document) {
  while (true) {
    if (!file_) {
      if (next_input_ == options_.inputs.size()) {
        throw_if_bad();
        return false;
      }
      file_ = std::make_unique<File>(options_.inputs[next_input_], next_input_);
      ++next_input_;
    }
    document.text.clear();
    document.input = file_->input();
    document.from_json = is_json_lines(file_->path());
    if (next_of_file(document)) {
      ++counts_.documents;
      document.position_bytes = position_bytes();
      return true;
    }
    finished_bytes_ += file_->position_bytes();
    file_.reset();
  }
}

bool CorpusReader::next_of_file(Document& document) {
  if (document.from_json) return next_json(document);
  switch (options_.unit) {
    case DocumentUnit::File:
      document.line = 1;
      if (file_->line() > 0) return false;
      file_->append_rest(document.text);
      return !document.text.empty();
    case DocumentUnit::Line:
      if (!file_->append_line(document.text)) return false;
      document.line = file_->line();
      return true;
    case DocumentUnit::Paragraph:
      return next_paragraph(document);
  }
  return false;
}

bool CorpusReader::next_paragraph(Document& document) {
  std::string line;
  while (file_->append_line(line)) {
    if (trim(line).empty()) {
      if (!document.text.empty()) return true;
    } else {
      if (document.text.empty()) {
        document.line = file_->line();
      } else {
        document.text += '\n';
      }
      document.text += line;
    }
    line.clear();
  }
  return !document.text.empty();
}

bool CorpusReader::next_json(Document& document) {
  std::string line;
  while (file_->append_line(line)) {
    document.line = file_->line();
    if (!trim(line).empty() && parse_json_line(line, document)) return true;
    line.clear();
  }
  return false;
}

bool CorpusReader::parse_json_line(std::string& line, Document& document) {
  line.reserve(line.size() + simdjson::SIMDJSON_PADDING);  // the parser may read, not use, bytes behind the line
  simdjson::dom::element json;
  std::string_view text;
  if (parser_->parser.parse(line.data(), line.size(), false).get(json) == simdjson::SUCCESS &&
      json[options_.json_key].get_string().get(text) == simdjson::SUCCESS) {
    document.text.assign(text);
    return true;
  }
  // simdjson does not say where and why; this line is worth a second, slower look.
  const Result<Json> parsed = parse_json(line, file_->path());
  if (!parsed) {
    note_bad_line(parsed.diagnostics().front().message);
  } else if (!parsed->is_object()) {
    note_bad_line("a line of JSON must be an object");
  } else if (!parsed->contains(options_.json_key) || (*parsed)[options_.json_key].is_null()) {
    ++counts_.without_text;
    for (const auto& [key, unused] : parsed->items()) {
      if (counts_.without_text == 1) keys_seen_.push_back(key);
    }
  } else if ((*parsed)[options_.json_key].is_string()) {
    document.text = (*parsed)[options_.json_key].get<std::string>();
    return true;
  } else {
    note_bad_line(fmt::format("the key '{}' must hold text", options_.json_key));
  }
  return false;
}

void CorpusReader::note_bad_line(std::string message) {
  bad_lines_.push_back(error_at({file_->path(), static_cast<int>(file_->line())}, std::move(message)));
  if (bad_lines_.size() >= kMostBadLines) throw InputError(bad_lines_);
}

void CorpusReader::throw_if_bad() const {
  if (!bad_lines_.empty()) throw InputError(bad_lines_);
  if (counts_.documents > 0 || counts_.without_text == 0) return;
  Diagnostic diagnostic =
      error_at({options_.inputs.front()}, fmt::format("no line has the key '{}'", options_.json_key));
  diagnostic.found = "keys of the first line: " + join(keys_seen_, ", ");
  diagnostic.suggestion = did_you_mean(options_.json_key, keys_seen_);
  throw InputError(diagnostic);
}

}  // namespace primus::data
