// The flags of Megatron-LM's argument parser by the keys that set them. Private to the room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace primus::dialect {

struct MegatronFlag {
  // On: a bare flag that sets true. Off: a bare flag that sets false. One, Many: followed by values.
  enum class Form { On, Off, One, Many };
  std::string_view dest;
  std::string flag;  // "--norm-epsilon"
  Form form = Form::One;
  bool accepted = true;         // by the parser that the table was made from
  bool always_written = false;  // its default differs between revisions
  bool whole_number = false;    // 500000.0 is refused, 500000 is not
  std::string_view choices;     // "adam|sgd"; empty: any word
};

// The words of the table, as made: "dest" or "dest=--flag".
struct MegatronFlagList {
  MegatronFlag::Form form;
  std::string_view words;
  bool accepted;
};
std::vector<MegatronFlagList> megatron_flag_lists();
std::string_view megatron_always_written();
std::string_view megatron_whole_numbers();
std::string_view megatron_choices();

// All of them, sorted by key.
const std::vector<MegatronFlag>& megatron_flags();
const MegatronFlag* find_megatron_flag(std::string_view dest);

}  // namespace primus::dialect
