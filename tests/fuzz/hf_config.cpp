// Any config.json is read into a model or refused with findings; sizes of what was read can be counted.
#include "primus/hub/hf_config.h"

#include <cstdint>

#include "fuzz/check.h"

#include "primus/spec/model_size.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace primus;
  const Result<Json> json = parse_json(std::string(reinterpret_cast<const char*>(data), size), "config.json");
  if (!json.ok()) return 0;
  const Result<hub::HfModel> model = hub::read_hf_config(*json, "config.json");
  fuzz::demand(model.ok() || has_errors(model.diagnostics()), "a refusal says why");
  if (model.ok()) (void)spec::count_parameters(model->model, false);
  return 0;
}
