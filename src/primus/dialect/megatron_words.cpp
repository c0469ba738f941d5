#include "primus/dialect/megatron_words.h"

#include "primus/base/strings.h"

namespace primus::dialect {

spec::LrDecay lr_decay_style(const std::string& word) {
  if (word == "constant") return spec::LrDecay::Constant;
  if (word == "cosine") return spec::LrDecay::Cosine;
  if (word == "inverse-square-root") return spec::LrDecay::InverseSquareRoot;
  if (word == "WSD") return spec::LrDecay::WarmupStableDecay;
  return spec::LrDecay::Linear;
}

spec::WsdDecay wsd_decay_style(const std::string& word) {
  if (word == "linear") return spec::WsdDecay::Linear;
  if (word == "cosine") return spec::WsdDecay::Cosine;
  if (word == "minus_sqrt") return spec::WsdDecay::MinusSqrt;
  return spec::WsdDecay::Exponential;
}

const char* lr_decay_word(spec::LrDecay decay) {
  switch (decay) {
    case spec::LrDecay::Constant:
      return "constant";
    case spec::LrDecay::Linear:
      return "linear";
    case spec::LrDecay::Cosine:
      return "cosine";
    case spec::LrDecay::InverseSquareRoot:
      return "inverse-square-root";
    case spec::LrDecay::WarmupStableDecay:
      return "WSD";
  }
  return "linear";
}

spec::DataBlend data_blend(Translation& t, const char* key, const std::vector<std::string>& words) {
  spec::DataBlend blend;
  blend.weighted = words.size() % 2 == 0 && !words.empty() && parse_double(words.front()).has_value();
  if (!blend.weighted) {
    for (const std::string& word : words) blend.files.push_back({1, word});
    return blend;
  }
  for (size_t i = 0; i + 1 < words.size(); i += 2) {
    const auto weight = parse_double(words[i]);
    if (!weight || *weight <= 0)
      t.error(key, "'" + words[i] + "' is no weight of a data file", "a number greater than 0 before each path",
              "write weights before all paths or before none");
    blend.files.push_back({weight.value_or(1), words[i + 1]});
  }
  return blend;
}

}  // namespace primus::dialect
