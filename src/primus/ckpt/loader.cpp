#include "primus/ckpt/loader.h"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <set>

#include "primus/base/check.h"
#include "primus/base/strings.h"
#include "primus/hub/checkpoint_reader.h"
#include "primus/tensor/prelude.h"

namespace primus::ckpt {

namespace {

struct Copy {
  const NamedShard* destination;
  hub::Box box;   // of the destination
  hub::Box part;  // what it takes from the source
};

// One shard of the checkpoint that is needed, and everything that wants a part of it.
struct Source {
  const hub::CheckpointTensor* tensor;
  const hub::CheckpointShard* shard;
  std::span<const std::byte> bytes;
  std::vector<Copy> copies;
};

const hub::CheckpointTensor* find_tensor(const hub::Manifest& manifest, const std::string& name) {
  const auto found = std::ranges::lower_bound(manifest.tensors, name, {}, &hub::CheckpointTensor::name);
  return found != manifest.tensors.end() && found->name == name ? &*found : nullptr;
}

Diagnostic mismatch(const fs::path& place, const std::string& name, std::string message, std::string found,
                    std::string wanted) {
  Diagnostic finding = error_at({place.string()}, std::move(message));
  finding.key = printable_ascii(name);
  finding.found = std::move(found);
  finding.expected = std::move(wanted);
  return finding;
}

// The same numbers in the same or in more bits.
bool can_fill(hub::Dtype stored, hub::Dtype wanted) {
  const bool is_half = stored == hub::Dtype::BF16 || stored == hub::Dtype::F16;
  return stored == wanted || (is_half && wanted == hub::Dtype::F32);
}

// Compares every destination with the manifest before a byte is read.
Diagnostics compare(const hub::FoundCheckpoint& checkpoint, const std::vector<NamedShard>& destinations) {
  Diagnostics findings;
  std::vector<std::string> names;
  for (const hub::CheckpointTensor& tensor : checkpoint.manifest.tensors) names.push_back(tensor.name);
  for (const NamedShard& wanted : destinations) {
    PRIMUS_CHECK(wanted.data.is_cpu() && wanted.data.is_contiguous(), "a destination must be a contiguous CPU tensor");
    const std::string what =
        fmt::format("{} {}", to_string(dtype_of(wanted.data)), hub::format_shape(wanted.global_shape));
    const hub::CheckpointTensor* tensor = find_tensor(checkpoint.manifest, wanted.name);
    if (tensor == nullptr) {
      Diagnostic finding = mismatch(checkpoint.path, wanted.name, "the checkpoint lacks this tensor", "", what);
      if (findings.size() < 8) finding.suggestion = did_you_mean(wanted.name, names);
      findings.push_back(std::move(finding));
    } else if (!can_fill(tensor->dtype, dtype_of(wanted.data)) || tensor->shape != wanted.global_shape) {
      findings.push_back(mismatch(checkpoint.path, wanted.name, "the tensor in the checkpoint is another one",
                                  fmt::format("{} {}", to_string(tensor->dtype), hub::format_shape(tensor->shape)),
                                  what));
    } else {
      const std::string fault = hub::outside_fault(wanted.global_shape, box_of(wanted));
      PRIMUS_CHECK(fault.empty(), "destination " + wanted.name + ": " + fault);
    }
  }
  constexpr size_t kMostShown = 8;
  if (findings.size() > kMostShown) {
    const size_t num_more = findings.size() - kMostShown;
    findings.resize(kMostShown);
    findings.push_back(error_at({checkpoint.path.string()}, fmt::format("{} more tensors do not fit", num_more)));
  }
  return findings;
}

// The shards that hold something wanted, mapped. Destinations of one tensor often share a shard: it is checked once.
Result<std::vector<Source>> plan(const hub::FoundCheckpoint& checkpoint, hub::CheckpointReader& reader,
                                 const std::vector<NamedShard>& destinations) {
  std::vector<Source> sources;
  std::map<const hub::CheckpointShard*, size_t> known;
  for (const NamedShard& wanted : destinations) {
    const hub::CheckpointTensor* tensor = find_tensor(checkpoint.manifest, wanted.name);
    const hub::Box box = box_of(wanted);
    for (const hub::CheckpointShard& shard : tensor->shards) {
      std::optional<hub::Box> part = intersect(shard.box, box);
      if (!part) continue;
      const auto [entry, is_new] = known.emplace(&shard, sources.size());
      if (is_new) {
        Result<std::span<const std::byte>> bytes = reader.shard(*tensor, shard);
        if (!bytes) return bytes.diagnostics();
        sources.push_back({tensor, &shard, *bytes, {}});
      }
      sources[entry->second].copies.push_back({&wanted, box, std::move(*part)});
    }
  }
  // The largest first, so that no thread is left with one at the end.
  std::ranges::sort(sources, std::greater<>(), [](const Source& source) { return source.bytes.size(); });
  return sources;
}

void copy_widened(const Source& source, const Copy& copy) {
  const auto type = source.tensor->dtype == hub::Dtype::BF16 ? at::kBFloat16 : at::kHalf;
  at::Tensor from = at::from_blob(const_cast<std::byte*>(source.bytes.data()), source.shard->box.size, type);
  at::Tensor to = copy.destination->data;
  for (int64_t d = 0; d < to.dim(); ++d) {
    const auto i = static_cast<size_t>(d);
    from = from.narrow(d, copy.part.offset[i] - source.shard->box.offset[i], copy.part.size[i]);
    to = to.narrow(d, copy.part.offset[i] - copy.box.offset[i], copy.part.size[i]);
  }
  to.copy_(from);
}

void copy(const Source& source) {
  for (const Copy& copy : source.copies) {
    if (source.tensor->dtype != dtype_of(copy.destination->data)) {
      copy_widened(source, copy);
      continue;
    }
    copy_box(copy.part, source.shard->box, source.bytes.data(), copy.box,
             static_cast<std::byte*>(copy.destination->data.data_ptr()), copy.destination->data.element_size());
  }
}

Diagnostics read_all(const std::vector<Source>& sources, const hub::CheckpointReader& reader, bool verify) {
  Diagnostics findings;
  std::mutex guard;
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < sources.size(); i = next++) {
      if (verify) {
        if (Status status = reader.check(*sources[i].tensor, *sources[i].shard, sources[i].bytes); !status) {
          const std::lock_guard lock(guard);
          findings.insert(findings.end(), status.diagnostics().begin(), status.diagnostics().end());
          continue;
        }
      }
      copy(sources[i]);
    }
  };
  size_t num_bytes = 0;
  for (const Source& source : sources) num_bytes += source.bytes.size();
  const int64_t num_workers = num_bytes < (size_t{4} << 20) ? 1 : at::get_num_threads();
  at::parallel_for(0, num_workers, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) work();
  });
  return findings;
}

}  // namespace

Result<LoadReport> load(const hub::FoundCheckpoint& checkpoint, const std::vector<NamedShard>& destinations,
                        const LoadOptions& options) {
  if (!options.model.is_null()) {
    Diagnostics differences =
        hub::compare_fingerprints(options.model, checkpoint.manifest.state.model, checkpoint.path);
    if (!differences.empty()) return differences;
  }
  if (Diagnostics findings = compare(checkpoint, destinations); !findings.empty()) return findings;
  hub::CheckpointReader reader(checkpoint.path, checkpoint.manifest);
  Result<std::vector<Source>> sources = plan(checkpoint, reader, destinations);
  if (!sources) return sources.diagnostics();
  if (Diagnostics findings = read_all(*sources, reader, options.verify_checksums); !findings.empty()) return findings;

  LoadReport report;
  std::set<std::string> used;
  for (const NamedShard& wanted : destinations) {
    used.insert(wanted.name);
    report.num_bytes += wanted.data.nbytes();
  }
  report.num_tensors = static_cast<int64_t>(used.size());
  for (const hub::CheckpointTensor& tensor : checkpoint.manifest.tensors) {
    if (!used.contains(tensor.name)) report.unused.push_back(tensor.name);
  }
  return report;
}

}  // namespace primus::ckpt
