// Any layout reads any other's files: random tensors, cut into random boxes, read back through other random boxes.
#include <gtest/gtest.h>
#include <random>

#include "unit/ckpt/sample_state.h"
#include "unit/hub/temp_folder.h"

#include "primus/hub/checkpoint_reader.h"

namespace primus::ckpt {
namespace {

using Random = std::mt19937;

int64_t pick(Random& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

// Splits a box at random places of random dims until no more splits are wanted: no regular grid, so also boxes that
// touch many others.
std::vector<hub::Box> random_boxes(Random& random, const hub::Box& box, int num_splits) {
  const int64_t num_dims = static_cast<int64_t>(box.size.size());
  if (num_splits == 0 || num_dims == 0) return {box};
  const auto dim = static_cast<size_t>(pick(random, 0, num_dims - 1));
  const int64_t cut = pick(random, 0, box.size[dim]);  // may leave an empty box
  hub::Box first = box, second = box;
  first.size[dim] = cut;
  second.offset[dim] += cut;
  second.size[dim] -= cut;
  std::vector<hub::Box> boxes = random_boxes(random, first, num_splits / 2);
  for (hub::Box& part : random_boxes(random, second, num_splits - 1 - num_splits / 2)) boxes.push_back(std::move(part));
  return boxes;
}

at::Tensor part_of(const at::Tensor& whole, const hub::Box& box) {
  at::Tensor part = whole;
  for (size_t dim = 0; dim < box.size.size(); ++dim) {
    part = part.slice(static_cast<int64_t>(dim), box.offset[dim], box.offset[dim] + box.size[dim]);
  }
  return part.contiguous();
}

struct Case {
  std::vector<std::string> names;
  std::vector<at::Tensor> wholes;
};

Case random_case(Random& random) {
  Case made;
  const at::ScalarType types[] = {at::kFloat, at::kBFloat16, at::kLong, at::kByte};
  const int64_t num_tensors = pick(random, 1, 5);
  for (int64_t i = 0; i < num_tensors; ++i) {
    std::vector<int64_t> shape(static_cast<size_t>(pick(random, 0, 4)));
    int64_t count = 1;
    for (int64_t& size : shape) count *= (size = pick(random, pick(random, 0, 9) == 0 ? 0 : 1, 7));
    at::Tensor values = at::empty({count}, at::kFloat);
    for (int64_t k = 0; k < count; ++k) values.data_ptr<float>()[k] = static_cast<float>(pick(random, 1, 200));
    made.wholes.push_back(values.reshape(shape).to(types[pick(random, 0, 3)]).contiguous());
    made.names.push_back((i % 2 == 0 ? "model." : "optimizer.exp_avg.") + std::string("p") + std::to_string(i));
  }
  return made;
}

// Shards of all tensors with random boxes; `fill` copies the values in.
std::vector<NamedShard> random_shards(Random& random, const Case& made, bool fill) {
  std::vector<NamedShard> shards;
  for (size_t i = 0; i < made.wholes.size(); ++i) {
    const NamedShard whole = whole_shard(made.names[i], made.wholes[i]);
    for (const hub::Box& box : random_boxes(random, box_of(whole), static_cast<int>(pick(random, 0, 6)))) {
      const at::Tensor part = part_of(made.wholes[i], box);
      shards.push_back({whole.name, whole.global_shape, box.offset, fill ? part : at::zeros_like(part)});
    }
  }
  return shards;
}

TEST(Resharding, ReadsAnyLayoutFromAnyOther) {  // B116
  for (unsigned seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    const test::TempFolder run = test::TempFolder::in_memory();
    const Case made = random_case(random);
    Writer writer({.checkpoints = run.path(), .in_background = seed % 2 == 0});
    writer.save({.state = {.step = 1}, .shards = random_shards(random, made, true)});
    writer.wait();
    const hub::FoundCheckpoint found = value_or_throw(hub::find_checkpoint(run.path()));
    EXPECT_EQ(render(hub::verify_checkpoint(found.path)), "") << seed;
    const std::vector<NamedShard> loaded = random_shards(random, made, false);
    Result<LoadReport> report = load(found, loaded);
    ASSERT_TRUE(report.ok()) << seed << ": " << render(report.diagnostics());
    EXPECT_TRUE(report->unused.empty());
    for (const NamedShard& shard : loaded) {
      const auto index = static_cast<size_t>(std::ranges::find(made.names, shard.name) - made.names.begin());
      EXPECT_TRUE(at::equal(shard.data, part_of(made.wholes[index], box_of(shard)))) << seed << ": " << shard.name;
    }
  }
}

}  // namespace
}  // namespace primus::ckpt
