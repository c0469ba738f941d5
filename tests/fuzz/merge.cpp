// Two documents, parted by a line "%%": the second over the first. The merge keeps every key, and merging the same
// document again changes nothing.
#include "primus/config/merge.h"

#include <cstdint>

#include "fuzz/check.h"

#include "primus/config/yaml_reader.h"

namespace {

std::optional<primus::config::Map> read(std::string_view text) {
  primus::Diagnostics findings;
  auto tree = primus::config::read_yaml(text, std::make_shared<const std::string>("fuzz.yaml"),
                                        primus::config::Layer::Experiment, findings);
  if (!tree || primus::has_errors(findings)) return std::nullopt;
  return tree->as_map();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using primus::config::Map;
  using primus::config::Value;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t middle = text.find("\n%%\n");
  if (middle == std::string_view::npos) return 0;
  const auto base = read(text.substr(0, middle + 1)), over = read(text.substr(middle + 4));
  if (!base || !over) return 0;
  Map merged = *base;
  primus::config::deep_merge(merged, *over);
  for (const Map* part : {&*base, &*over})
    for (const std::string& key : part->keys())
      primus::fuzz::demand(merged.find(key) != nullptr, "no key of either side is lost");
  Map twice = merged;
  primus::config::deep_merge(twice, *over);
  primus::fuzz::demand(Value(twice).same_data(Value(merged)), "merging twice is merging once");
  Map overrides = *over;
  primus::config::null_from_text_in_overrides(overrides, *base);
  return 0;
}
