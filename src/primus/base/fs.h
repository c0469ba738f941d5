// Files. Reading returns Result (user-caused failures); writing throws RunError, since a full disk ends the run.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "primus/base/result.h"

namespace primus {

namespace fs = std::filesystem;

Result<std::string> read_text_file(const fs::path& path);

// Writes to a temporary name in the same folder, fsyncs file and folder, renames: the file is old or new, never half.
void write_file_atomic(const fs::path& path, std::string_view content);
void create_folders(const fs::path& path);
void sync_folder(const fs::path& path);

// Every step of a durable write (open, write, fsync, rename, unlink) calls this first when set. Tests install a hook
// that ends the process or throws at the n-th step; production leaves it empty. fault.h sets it from PRIMUS_FAULT.
using FaultHook = std::function<void(std::string_view step, const fs::path& path)>;
void set_fault_hook(FaultHook hook);
void fault_point(std::string_view step, const fs::path& path);

// A file that is written piece by piece and made durable by close(). Not closed = not renamed: the target stays
// untouched.
class DurableFile {
 public:
  explicit DurableFile(fs::path target);
  ~DurableFile();
  DurableFile(const DurableFile&) = delete;
  DurableFile& operator=(const DurableFile&) = delete;

  void write(const void* data, size_t size_bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void close();  // fsync, rename to the target, fsync of the folder

 private:
  fs::path target_;
  fs::path temporary_;
  int fd_ = -1;
};

// A read-only memory map of a whole file. Empty files map to an empty span.
class MappedFile {
 public:
  static Result<MappedFile> open(const fs::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_bytes_}; }
  size_t size_bytes() const { return size_bytes_; }
  const fs::path& path() const { return path_; }

 private:
  MappedFile() = default;
  fs::path path_;
  const std::byte* data_ = nullptr;
  size_t size_bytes_ = 0;
};

}  // namespace primus
