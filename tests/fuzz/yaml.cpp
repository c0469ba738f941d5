// Any bytes are read or refused with a finding; what was read is written as YAML that reads back to the same values.
#include <cstdint>

#include "fuzz/check.h"

#include "primus/config/dump.h"
#include "primus/config/yaml_reader.h"

namespace {

std::optional<primus::config::Value> read(std::string_view text, primus::Diagnostics& findings) {
  return primus::config::read_yaml(text, std::make_shared<const std::string>("fuzz.yaml"),
                                   primus::config::Layer::Experiment, findings);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  primus::Diagnostics findings;
  const auto tree = read({reinterpret_cast<const char*>(data), size}, findings);
  primus::fuzz::demand(tree.has_value() || primus::has_errors(findings), "a refusal says why");
  if (!tree || primus::has_errors(findings) || tree->as_map().empty()) return 0;
  const std::string written = primus::config::yaml_block(*tree);
  primus::Diagnostics again;
  const auto back = read(written, again);
  if (!back || !back->same_data(*tree))
    std::fprintf(stderr, "%s\n%s\n", written.c_str(), primus::render(again).c_str());
  primus::fuzz::demand(back.has_value() && back->same_data(*tree), "written YAML reads back to the same values");
  return 0;
}
