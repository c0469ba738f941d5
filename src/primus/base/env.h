// The process environment, read through a value so that tests never touch the real one.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

namespace primus {

// A look-up of environment variables: nothing when unset (a set but empty variable is an empty string).
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

Environment process_environment();
Environment environment_of(std::map<std::string, std::string> variables);  // for tests

}  // namespace primus
