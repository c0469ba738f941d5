// The scripts that shells source. They start `program`, which must be primus itself: it answers in milliseconds, while
// primus-cli looks for changed sources first.
#pragma once

#include <string>

namespace primus::cli {

std::string bash_script(const std::string& program);
std::string zsh_script(const std::string& program);
std::string fish_script(const std::string& program);

}  // namespace primus::cli
