// Any text with ${...} expands or is reported; expanding never fails and ends.
#include "primus/config/placeholder.h"

#include <cstdint>

#include "fuzz/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace primus;
  static const Environment environment = environment_of({{"A", "1"}, {"EMPTY", ""}, {"B", "${A}"}, {"LONG", "x y z"}});
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const bool bare_dollar : {false, true}) {
    const config::Expansion once = config::expand_placeholders(text, environment, bare_dollar);
    fuzz::demand(text.find('$') != std::string_view::npos || once.text == text, "a text without $ stays as it is");
    fuzz::demand(once.found_any || bare_dollar || !once.used_variable, "only a placeholder uses a variable");
    (void)config::type_substituted(once.text);
  }
  return 0;
}
