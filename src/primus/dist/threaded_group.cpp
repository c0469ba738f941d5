#include "primus/dist/threaded_group.h"

#include <condition_variable>
#include <deque>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mutex>
#include <thread>

#include "primus/base/check.h"
#include "primus/base/error.h"
#include "primus/base/hash.h"
#include "primus/base/strings.h"
#include "primus/tensor/prelude.h"

namespace primus::dist {

namespace {

// What a task and its Work share.
class Outcome {
 public:
  void set(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    error_ = std::move(error);
    finished_ = true;
    changed_.notify_all();
  }
  std::exception_ptr wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return finished_; });
    return error_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool finished_ = false;
  std::exception_ptr error_;
};

class QueuedWork : public Work {
 public:
  explicit QueuedWork(std::shared_ptr<Outcome> outcome) : outcome_(std::move(outcome)) {}
  ~QueuedWork() override { outcome_->wait(); }
  void wait() override {
    if (const std::exception_ptr error = outcome_->wait()) std::rethrow_exception(error);
  }

 private:
  std::shared_ptr<Outcome> outcome_;
};

struct Task {
  Operation operation;
  std::function<void()> run;  // after the operation was announced; empty: nothing more to do
  std::shared_ptr<Outcome> outcome;
};

std::optional<ElementType> element_type(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return ElementType::Float32;
    case at::kDouble:
      return ElementType::Float64;
    case at::kBFloat16:
      return ElementType::BFloat16;
    case at::kHalf:
      return ElementType::Float16;
    case at::kInt:
      return ElementType::Int32;
    case at::kLong:
      return ElementType::Int64;
    default:
      return std::nullopt;
  }
}

std::string text_of(const at::Tensor& tensor) {
  return fmt::format("{} [{}]", at::toString(tensor.scalar_type()), fmt::join(tensor.sizes().vec(), ", "));
}

std::span<std::byte> bytes_of(const at::Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.data_ptr()), tensor.nbytes()};
}

class ThreadedGroup : public Group {
 public:
  ThreadedGroup(std::string name, int rank, int num_ranks, std::unique_ptr<Transport> transport,
                std::unique_ptr<StatusBoard> board, WatchdogLimits limits)
      : name_(std::move(name)),
        rank_(rank),
        num_ranks_(num_ranks),
        board_(std::move(board)),
        transport_(std::move(transport)),
        watchdog_(std::make_unique<Watchdog>(name_, rank, num_ranks, *board_, limits)),
        thread_([this] { run(); }) {}

  ~ThreadedGroup() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
    watchdog_.reset();  // the others learn that this rank left before its connections close
  }

  int rank() const override { return rank_; }
  int size() const override { return num_ranks_; }
  const std::string& name() const override { return name_; }
  void set_step(int64_t step) override { watchdog_->set_step(step); }

  std::unique_ptr<Work> all_reduce_sum(const at::Tensor& tensor) override {
    return all_reduce("all_reduce_sum", Reduction::Sum, tensor);
  }
  std::unique_ptr<Work> all_reduce_max(const at::Tensor& tensor) override {
    return all_reduce("all_reduce_max", Reduction::Max, tensor);
  }

  std::unique_ptr<Work> broadcast(const at::Tensor& tensor, int root) override {
    check_tensor("broadcast", tensor);
    PRIMUS_CHECK(root >= 0 && root < num_ranks_, "broadcast from a rank that is not in the group");
    return queue(fmt::format("broadcast from rank {} {}", root, text_of(tensor)),
                 [this, tensor, root] { transport_->broadcast(bytes_of(tensor), root); });
  }

  std::unique_ptr<Work> all_gather(const std::vector<at::Tensor>& parts) override {
    PRIMUS_CHECK(parts.size() == static_cast<size_t>(num_ranks_), "all_gather needs one part of every rank");
    std::string shapes;
    for (const at::Tensor& part : parts) {
      check_tensor("all_gather", part);
      shapes += text_of(part) + ";";
    }
    // The shapes of many ranks do not fit into a report: first, last, and a fingerprint of all.
    std::string text = fmt::format("all_gather {} parts, {} to {}, {:08x}", parts.size(), text_of(parts.front()),
                                   text_of(parts.back()), static_cast<uint32_t>(fnv1a64(shapes)));
    return queue(std::move(text), [this, parts] {
      std::vector<std::span<std::byte>> bytes;
      for (const at::Tensor& part : parts) bytes.push_back(bytes_of(part));
      transport_->all_gather(bytes);
    });
  }

  void barrier() override { queue("barrier", nullptr)->wait(); }

  std::vector<std::string> all_gather_text(const std::string& mine) override {
    std::vector<std::string> texts(static_cast<size_t>(num_ranks_));
    queue("all_gather_text", [this, &mine, &texts] { gather_texts(mine, texts); })->wait();
    return texts;
  }

 private:
  std::unique_ptr<Work> all_reduce(const char* what, Reduction reduction, const at::Tensor& tensor) {
    check_tensor(what, tensor);
    const std::optional<ElementType> type = element_type(tensor.scalar_type());
    if (!type)
      throw RunError(fmt::format("{}: tensors of type {} cannot be reduced", what, at::toString(tensor.scalar_type())));
    return queue(fmt::format("{} {}", what, text_of(tensor)), [this, reduction, tensor, type = *type] {
      transport_->all_reduce(reduction, type, bytes_of(tensor).data(), tensor.numel());
    });
  }

  static void check_tensor(const char* what, const at::Tensor& tensor) {
    if (!tensor.device().is_cpu()) {
      throw RunError(fmt::format(
          "{}: a tensor on {}: groups of GPU tensors come through the NCCL/RCCL plug-in, which this build has not",
          what, tensor.device().str()));
    }
    PRIMUS_CHECK(tensor.is_contiguous(), std::string(what) + ": the tensor is not contiguous");
  }

  void gather_texts(const std::string& mine, std::vector<std::string>& texts) {
    std::vector<uint64_t> lengths(texts.size());
    lengths[static_cast<size_t>(rank_)] = mine.size();
    std::vector<std::span<std::byte>> parts;
    for (uint64_t& length : lengths) parts.push_back(std::as_writable_bytes(std::span(&length, 1)));
    transport_->all_gather(parts);
    for (size_t i = 0; i < texts.size(); ++i) {
      texts[i].resize(lengths[i]);
      parts[i] = std::as_writable_bytes(std::span(texts[i].data(), texts[i].size()));
    }
    texts[static_cast<size_t>(rank_)] = mine;
    parts[static_cast<size_t>(rank_)] = std::as_writable_bytes(std::span(texts[static_cast<size_t>(rank_)]));
    transport_->all_gather(parts);
  }

  std::unique_ptr<Work> queue(std::string text, std::function<void()> run) {
    auto outcome = std::make_shared<Outcome>();
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back({.operation = {.sequence = ++last_sequence_, .text = std::move(text)},
                        .run = std::move(run),
                        .outcome = outcome});
    }
    changed_.notify_all();
    return std::make_unique<QueuedWork>(std::move(outcome));
  }

  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      {
        Task task = std::move(tasks_.front());
        tasks_.pop_front();
        lock.unlock();
        execute(task);
      }
      lock.lock();
    }
  }

  void execute(Task& task) {
    if (failure_) {
      task.run = nullptr;
      task.outcome->set(failure_);
      return;
    }
    watchdog_->begin(task.operation);
    try {
      transport_->announce(task.operation);
      if (task.run) task.run();
    } catch (const std::exception& error) {
      const std::string report =
          fmt::format("{} ({} of group {}, operation {}, rank {} at step {})", first_ascii_line(error.what()),
                      task.operation.text, name_, task.operation.sequence, rank_, watchdog_->own().step);
      failure_ = std::make_exception_ptr(RunError(report));
      watchdog_->failed(report);
    }
    watchdog_->finish();
    task.run = nullptr;  // lets go of the tensors before anybody hears that it is done
    task.outcome->set(failure_);
  }

  const std::string name_;
  const int rank_, num_ranks_;
  std::unique_ptr<StatusBoard> board_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Watchdog> watchdog_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  uint64_t last_sequence_ = 0;
  bool stopping_ = false;
  std::exception_ptr failure_;  // of the communication thread
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Group> threaded_group(std::string name, int rank, int num_ranks, std::unique_ptr<Transport> transport,
                                      std::unique_ptr<StatusBoard> board, WatchdogLimits limits) {
  return std::make_unique<ThreadedGroup>(std::move(name), rank, num_ranks, std::move(transport), std::move(board),
                                         limits);
}

}  // namespace primus::dist
