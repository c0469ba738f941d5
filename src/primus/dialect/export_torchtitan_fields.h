// The fields of TorchTitan's JobConfig. Private to the room.
#pragma once

#include <string_view>

namespace primus::dialect {

// "section.field section.field ...", in upstream's order.
std::string_view torchtitan_fields();

}  // namespace primus::dialect
