// The configurations of tests/golden/hf_config: one a family and size, with what transformers says of it.
#pragma once

#include <string>

#include "primus/base/check.h"
#include "primus/base/error.h"
#include "primus/base/fs.h"
#include "primus/base/json.h"

namespace primus::test {

inline const Json& golden_cases() {
  static const Json cases =
      value_or_throw(parse_json(value_or_throw(read_text_file("tests/golden/hf_config/configs.json")), "configs.json"));
  return cases;
}

inline const Json& golden_config(const std::string& name) {
  for (const Json& one : golden_cases())
    if (one.at("name") == name) return one.at("config");
  PRIMUS_CHECK(false, "no case " + name);
}

}  // namespace primus::test
