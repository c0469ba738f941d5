// MaxText's architectures by model_name, as data. Private to the room.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace primus::dialect {

struct MaxtextModel {
  std::string_view name;       // "llama3-8b": MaxText's configs/models/llama3-8b.yml
  std::string_view keys;       // what the file sets, as the inside of a YAML flow map
  std::string_view more = {};  // further keys, behind what a family shares
};

std::span<const MaxtextModel> maxtext_dense_models();
std::span<const MaxtextModel> maxtext_moe_models();

// "-Instruct" is taken out of the name first, as MaxText does. Null: no such model.
const MaxtextModel* find_maxtext_model(std::string_view model_name);
std::vector<std::string> maxtext_model_names();  // sorted

}  // namespace primus::dialect
