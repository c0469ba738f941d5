#include "primus/ckpt/writer.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include "primus/base/check.h"
#include "primus/base/error.h"
#include "primus/base/strings.h"
#include "primus/ckpt/rank_files.h"
#include "primus/tensor/prelude.h"

namespace primus::ckpt {

namespace {

void check_space(const SaveFolders& folders, uint64_t needed_bytes) {
  std::error_code code;
  const fs::space_info space = fs::space(folders.checkpoints, code);
  if (!code && space.available < needed_bytes) throw RunError("not enough space on the disk");
}

std::string describe_failure(const SaveFolders& folders, int64_t step, uint64_t needed_bytes,
                             const std::string& reason) {
  std::error_code code;
  const fs::space_info space = fs::space(folders.checkpoints, code);
  const std::string free = code ? "?" : format_bytes(static_cast<double>(space.available));
  return fmt::format(
      "the checkpoint of step {} was not saved: {} (this rank's part needs {}, free in '{}': {}); earlier checkpoints "
      "are untouched",
      step, reason, format_bytes(static_cast<double>(needed_bytes)), folders.checkpoints.string(), free);
}

// Gives the complete folder its final name. A checkpoint that has the name already (an earlier run's, saved again after
// it went back) changes places with it, so that there is no moment without one.
void commit(const SaveFolders& folders) {
  fault_point("rename", folders.final);
  std::error_code code;
  if (fs::exists(folders.final, code)) {
    if (::renameat2(AT_FDCWD, folders.partial.c_str(), AT_FDCWD, folders.final.c_str(), RENAME_EXCHANGE) == 0) {
      sync_folder(folders.checkpoints);
      return;
    }
    hub::remove_checkpoint(folders.final);  // a file system without exchange
  }
  fs::rename(folders.partial, folders.final, code);
  if (code) throw RunError(fmt::format("cannot rename '{}': {}", folders.partial.string(), code.message()));
  sync_folder(folders.checkpoints);
}

// After the commit nothing may fail the save: what cannot be removed becomes a warning.
Diagnostics tidy_up(const SaveFolders& folders, const hub::Retention& retention, int64_t saved_step) {
  Diagnostics notes;
  try {
    std::error_code code;
    if (fs::exists(folders.partial, code)) hub::remove_checkpoint(folders.partial);
    for (const int64_t step : hub::apply_retention(folders.checkpoints, retention, saved_step)) {
      Diagnostic note =
          error_at({folders.checkpoints.string()}, fmt::format("removed the checkpoint of step {}", step));
      note.severity = Severity::Note;
      notes.push_back(std::move(note));
    }
  } catch (const std::exception& error) {
    notes.push_back(warning_at({folders.checkpoints.string()}, fmt::format("old checkpoints stay: {}", error.what())));
  }
  return notes;
}

hub::Manifest start_manifest(const hub::CheckpointState& state, const std::string& save_id, int world_size) {
  const std::time_t now = std::time(nullptr);
  return {.save_id = save_id,
          .created = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now)),
          .world_size = world_size,
          .state = state};
}

// Rank 0's share after its own files: all parts, the manifest, the name.
void complete(const SaveFolders& folders, const WriterOptions& options, hub::Manifest manifest,
              hub::Manifest own_part) {
  std::vector<hub::Manifest> parts = {std::move(own_part)};
  for (hub::Manifest& part : collect_reports(folders, options.world_size, options.rank_timeout))
    parts.push_back(std::move(part));
  manifest = merge_parts(std::move(manifest), parts);
  const Json json = to_json(manifest);
  if (Result<hub::Manifest> checked = hub::manifest_from_json(json, hub::kManifestName); !checked) {
    throw RunError("the ranks' shards do not make whole tensors: " + render(checked.diagnostics()));
  }
  write_file_atomic(folders.partial / hub::kManifestName, dump_json(json, 1) + "\n");
  for (int rank = 1; rank < options.world_size; ++rank) {
    const fs::path report = folders.partial / fmt::format("rank-{}.json", rank);
    fault_point("unlink", report);
    std::error_code code;
    fs::remove(report, code);  // a report that stays does no harm
  }
  commit(folders);
}

SaveReport run_save(const WriterOptions& options, const hub::CheckpointState& state,
                    const std::vector<NamedShard>& shards, const std::string& save_id) {
  const auto start = std::chrono::steady_clock::now();
  const SaveFolders folders(options.checkpoints, state.step, save_id);
  const uint64_t needed_bytes = total_bytes(shards);
  SaveReport report{.step = state.step, .bytes = needed_bytes};
  try {
    if (const std::string reason = reason_of_failure(folders); !reason.empty()) throw RunError(reason);
    fault_point("mkdir", folders.partial);
    create_folders(folders.partial);
    check_space(folders, needed_bytes);
    hub::Manifest part = write_rank_files(folders.partial, options.rank, shards);
    if (options.rank == 0) {
      complete(folders, options, start_manifest(state, save_id, options.world_size), std::move(part));
    } else {
      write_report(folders, options.rank, part);
      await_commit(folders, save_id, options.rank_timeout);
    }
  } catch (const std::exception& error) {
    // When another rank gave up first, its reason is the one that helps: here files have merely vanished.
    std::string reason = reason_of_failure(folders);
    if (reason.empty()) reason = error.what();
    abandon(folders, options.rank, options.world_size, reason);
    throw RunError(describe_failure(folders, state.step, needed_bytes, reason));
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (options.rank == 0) report.notes = tidy_up(folders, options.retention, state.step);
  return report;
}

void check_shards(const std::vector<NamedShard>& shards) {
  for (const NamedShard& shard : shards) {
    PRIMUS_CHECK(shard.data.defined() && shard.data.is_cpu() && shard.data.is_contiguous(),
                 fmt::format("shard '{}' must be a contiguous CPU tensor", shard.name));
    const size_t num_dims = shard.global_shape.size();
    PRIMUS_CHECK(shard.offset.size() == num_dims && static_cast<size_t>(shard.data.dim()) == num_dims,
                 fmt::format("shard '{}' has a box of another rank than its tensor", shard.name));
  }
}

// Pieces of one size keep all threads busy however unequal the tensors are.
void copy_all(const std::vector<NamedShard>& from, const std::vector<at::Tensor>& to) {
  constexpr size_t kPieceBytes = size_t{4} << 20;
  struct Piece {
    std::byte* to;
    const std::byte* from;
    size_t bytes;
  };
  std::vector<Piece> pieces;
  for (size_t i = 0; i < from.size(); ++i) {
    auto* target = static_cast<std::byte*>(to[i].data_ptr());
    const auto* source = static_cast<const std::byte*>(from[i].data.const_data_ptr());
    const size_t size_bytes = from[i].data.nbytes();
    for (size_t at = 0; at < size_bytes; at += kPieceBytes) {
      pieces.push_back({target + at, source + at, std::min(kPieceBytes, size_bytes - at)});
    }
  }
  const auto num_pieces = static_cast<int64_t>(pieces.size());
  const int64_t grain = total_bytes(from) < 4 * kPieceBytes ? std::max<int64_t>(num_pieces, 1) : 1;
  at::parallel_for(0, num_pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Piece& piece = pieces[static_cast<size_t>(i)];
      std::memcpy(piece.to, piece.from, piece.bytes);
    }
  });
}

}  // namespace

Writer::Writer(WriterOptions options) : options_(std::move(options)) {
  PRIMUS_CHECK(options_.rank >= 0 && options_.rank < options_.world_size, "the rank lies outside the world");
  PRIMUS_CHECK(options_.world_size == 1 || !options_.session.empty(), "several ranks need one session name");
  PRIMUS_CHECK(options_.session.find('/') == std::string::npos, "the session names files");
  if (options_.session.empty()) {
    options_.session = fmt::format("{:x}", std::chrono::system_clock::now().time_since_epoch().count());
  }
}

Writer::~Writer() {
  if (running_.valid()) running_.wait();
}

std::vector<NamedShard> Writer::snapshot(const std::vector<NamedShard>& shards) {
  staging_.resize(shards.size());
  std::vector<NamedShard> copies;
  for (size_t i = 0; i < shards.size(); ++i) {
    const at::Tensor& data = shards[i].data;
    at::Tensor& buffer = staging_[i];
    if (!buffer.defined() || buffer.scalar_type() != data.scalar_type() || buffer.sizes() != data.sizes()) {
      buffer = at::empty(data.sizes(), data.options().requires_grad(false));
    }
    copies.push_back({shards[i].name, shards[i].global_shape, shards[i].offset, buffer});
  }
  copy_all(shards, staging_);
  return copies;
}

void Writer::reserve(const std::vector<NamedShard>& shards) {
  check_shards(shards);
  if (options_.in_background) snapshot(shards);
}

void Writer::save(const SaveRequest& request) {
  check_shards(request.shards);
  wait();
  const std::string save_id = fmt::format("{}-{}", options_.session, num_saves_++);
  if (!options_.in_background) {
    last_report_ = run_save(options_, request.state, request.shards, save_id);
    return;
  }
  running_ =
      std::async(std::launch::async, [options = options_, state = request.state, shards = snapshot(request.shards),
                                      save_id] { return run_save(options, state, shards, save_id); });
}

void Writer::wait() {
  if (running_.valid()) last_report_ = running_.get();
}

bool Writer::busy() const {
  return running_.valid() && running_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
}

}  // namespace primus::ckpt
