// TensorBoard event files. Record: u64 length, masked CRC-32C of it, a protobuf Event, masked CRC-32C of that. The few
// fields that scalars need are encoded by hand: linking protobuf beside libtorch only asks for version trouble.
#include "primus/track/tensorboard.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>

#include "primus/base/error.h"
#include "primus/base/hash.h"
#include "primus/track/metrics.h"

namespace primus::track {

namespace {

void append_varint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

void append_fixed(std::string& out, const void* value, size_t size_bytes) {
  out.append(static_cast<const char*>(value), size_bytes);
}

void append_bytes_field(std::string& out, int number, std::string_view bytes) {
  append_varint(out, static_cast<uint64_t>(number) << 3 | 2);
  append_varint(out, bytes.size());
  out.append(bytes);
}

std::string event_start(double wall_time) {
  std::string event;
  event.push_back(1 << 3 | 1);  // wall_time = 1, fixed 64 bit
  append_fixed(event, &wall_time, sizeof wall_time);
  return event;
}

}  // namespace

std::string event_record(std::string_view event) {
  const uint64_t length = event.size();
  const std::string_view length_bytes(reinterpret_cast<const char*>(&length), sizeof length);
  const auto masked = [](std::string_view data) {
    const uint32_t crc = crc32c(data);
    return (crc >> 15 | crc << 17) + 0xA282EAD8U;
  };
  std::string record(length_bytes);
  const uint32_t length_crc = masked(length_bytes);
  append_fixed(record, &length_crc, sizeof length_crc);
  record.append(event);
  const uint32_t event_crc = masked(event);
  append_fixed(record, &event_crc, sizeof event_crc);
  return record;
}

std::string version_event(double wall_time) {
  std::string event = event_start(wall_time);
  append_bytes_field(event, 3, "brain.Event:2");
  return event;
}

std::string scalar_event(double wall_time, int64_t step, std::string_view tag, float number) {
  std::string value;
  append_bytes_field(value, 1, tag);
  value.push_back(2 << 3 | 5);  // simple_value = 2, fixed 32 bit
  append_fixed(value, &number, sizeof number);
  std::string summary;
  append_bytes_field(summary, 1, value);
  std::string event = event_start(wall_time);
  event.push_back(2 << 3);  // step = 2, varint
  append_varint(event, static_cast<uint64_t>(step));
  append_bytes_field(event, 5, summary);
  return event;
}

namespace {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

class TensorBoard : public Sink {
 public:
  explicit TensorBoard(const fs::path& folder) {
    create_folders(folder);
    char host[256] = "host";
    ::gethostname(host, sizeof host - 1);
    const std::string name =
        fmt::format("events.out.tfevents.{:010d}.{}.{}", static_cast<int64_t>(now_seconds()), host, ::getpid());
    for (int number = 0; file_ == nullptr && number < 100; ++number) {  // never into a file that is there
      path_ = folder / fmt::format("{}.{}", name, number);
      file_ = std::fopen(path_.c_str(), "wbx");
    }
    if (file_ == nullptr) throw RunError("cannot create '" + path_.string() + "'");
    write(version_event(now_seconds()));
  }
  ~TensorBoard() override { std::fclose(file_); }
  TensorBoard(const TensorBoard&) = delete;
  TensorBoard& operator=(const TensorBoard&) = delete;

  // Megatron's tags.
  void on_step(const StepRow& row) override {
    scalar(row.step, "lm loss", row.loss);
    scalar(row.samples, "lm loss vs samples", row.loss);
    scalar(row.step, "grad-norm", row.grad_norm);
    scalar(row.step, "learning-rate", row.lr);
    scalar(row.step, "batch-size", static_cast<double>(row.global_batch_size));
    scalar(row.step, "iteration-time", row.step_ms / 1e3);
    scalar(row.step, "throughput", row.model_flops / 1e12);
    for (const auto& [name, value] : row.extra) scalar(row.step, tag_of(name), value);
    flush();
  }

  void on_eval(const EvalRow& row) override {
    scalar(row.step, row.name.empty() ? "lm loss validation" : "lm loss validation " + row.name, row.loss);
    flush();
  }

 private:
  static std::string tag_of(std::string name) {
    if (name == "memory_bytes") return "mem-allocated-bytes";
    for (char& c : name) c = c == '_' ? '-' : c;
    return name;
  }
  void scalar(int64_t step, std::string_view tag, double value) {
    write(scalar_event(now_seconds(), step, tag, static_cast<float>(value)));
  }
  void write(const std::string& event) {
    const std::string record = event_record(event);
    if (std::fwrite(record.data(), 1, record.size(), file_) != record.size()) fail();
  }
  void flush() {
    if (std::fflush(file_) != 0) fail();
  }
  [[noreturn]] void fail() { throw RunError("cannot append to '" + path_.string() + "': the disk may be full"); }

  fs::path path_;
  std::FILE* file_ = nullptr;
};

}  // namespace

// A resumed run adds a file of its own; TensorBoard shows later values of a step in place of earlier ones.
std::unique_ptr<Sink> open_tensorboard(const fs::path& folder) {
  return std::make_unique<TensorBoard>(folder);
}

}  // namespace primus::track
