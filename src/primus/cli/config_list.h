// Tables that `config list` prints.
#pragma once

#include <string>
#include <vector>

#include "primus/base/json.h"

namespace primus::cli {

struct ListRow {
  std::vector<std::string> cells;
  Json facts = Json::object();  // what --format json adds to the cells, or gives in place of one of the same name
};

struct ListTable {
  std::vector<std::string> columns;
  std::vector<ListRow> rows;
  std::string closing;  // a line behind the rows
};

}  // namespace primus::cli
