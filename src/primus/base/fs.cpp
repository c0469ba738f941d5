#include "primus/base/fs.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace primus {

namespace {

// Test hook of fault_point. The one piece of process-wide state in base: faults must reach code that no test can pass a
// parameter to (a background writer's last rename).
FaultHook& fault_hook() {
  static FaultHook hook;
  return hook;
}

[[noreturn]] void throw_io(std::string_view action, const fs::path& path) {
  throw RunError(fmt::format("cannot {} '{}': {}", action, path.string(), std::strerror(errno)));
}

}  // namespace

void set_fault_hook(FaultHook hook) {
  fault_hook() = std::move(hook);
}

void fault_point(std::string_view step, const fs::path& path) {
  if (fault_hook()) fault_hook()(step, path);
}

Result<std::string> read_text_file(const fs::path& path) {
  std::error_code code;
  if (fs::is_directory(path, code)) return error_at({path.string()}, "this is a folder, a file was expected");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    const bool exists = fs::exists(path, code);
    return error_at({path.string()}, exists ? fmt::format("cannot read the file: {}", std::strerror(errno))
                                            : std::string("no such file"));
  }
  std::ostringstream content;
  content << stream.rdbuf();
  return std::move(content).str();
}

void create_folders(const fs::path& path) {
  std::error_code code;
  fs::create_directories(path, code);
  if (code) throw RunError(fmt::format("cannot create the folder '{}': {}", path.string(), code.message()));
}

void sync_folder(const fs::path& path) {
  fault_point("fsync_folder", path);
  const int fd = ::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) throw_io("open folder", path);
  const int failed = ::fsync(fd);
  ::close(fd);
  if (failed != 0) throw_io("fsync folder", path);
}

DurableFile::DurableFile(fs::path target) : target_(std::move(target)) {
  static std::atomic<int> counter{0};
  temporary_ = target_;
  temporary_ += fmt::format(".{}.{}.tmp", ::getpid(), counter++);
  fault_point("open", target_);
  fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd_ < 0) throw_io("create", target_);
}

DurableFile::~DurableFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void DurableFile::write(const void* data, size_t size_bytes) {
  fault_point("write", target_);
  const char* next = static_cast<const char*>(data);
  while (size_bytes > 0) {
    const ssize_t written = ::write(fd_, next, size_bytes);
    if (written < 0) {
      if (errno == EINTR) continue;
      throw_io("write", target_);
    }
    next += written;
    size_bytes -= static_cast<size_t>(written);
  }
}

void DurableFile::close() {
  fault_point("fsync", target_);
  if (::fsync(fd_) != 0) throw_io("fsync", target_);
  const int failed = ::close(fd_);
  fd_ = -1;
  if (failed != 0) throw_io("close", target_);
  fault_point("rename", target_);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) throw_io("rename to", target_);
  temporary_.clear();
  sync_folder(target_.parent_path());
}

void write_file_atomic(const fs::path& path, std::string_view content) {
  DurableFile file(path);
  file.write(content);
  file.close();
}

Result<MappedFile> MappedFile::open(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return error_at({path.string()}, fmt::format("cannot open the file: {}", std::strerror(errno)));
  struct stat info{};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    return error_at({path.string()}, "not a regular file");
  }
  MappedFile mapped;
  mapped.path_ = path;
  mapped.size_bytes_ = static_cast<size_t>(info.st_size);
  if (mapped.size_bytes_ > 0) {
    void* data = ::mmap(nullptr, mapped.size_bytes_, PROT_READ, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED) {
      ::close(fd);
      return error_at({path.string()}, fmt::format("cannot map the file: {}", std::strerror(errno)));
    }
    mapped.data_ = static_cast<const std::byte*>(data);
  }
  ::close(fd);
  return mapped;
}

MappedFile::MappedFile(MappedFile&& other) noexcept {
  *this = std::move(other);
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_bytes_);
}

}  // namespace primus
