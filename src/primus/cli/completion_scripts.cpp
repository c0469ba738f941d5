#include "primus/cli/completion_scripts.h"

#include <string_view>

namespace primus::cli {
namespace {

// The words of bash are split again at '=' and ':' unless COMP_WORDBREAKS says otherwise, so they are put together
// here.
constexpr const char* kBash = R"sh(# primus-cli completion for bash: source <(primus-cli completion bash)
_primus_cli() {
  local IFS=$'\n' line=${COMP_LINE:0:COMP_POINT} current cut
  local -a words candidates
  IFS=$' \t' read -r -a words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  current=${words[${#words[@]}-1]}
  candidates=($(@PROGRAM@ completion query "${words[@]:1}" 2>/dev/null))
  COMPREPLY=()
  if [[ ${candidates[0]} == __files__ && ${#candidates[@]} == 1 ]]; then
    COMPREPLY=($(compgen -f -- "${current#*=}"))
    compopt -o filenames 2>/dev/null
    return
  fi
  cut=${current%"${COMP_WORDS[COMP_CWORD]}"}
  [[ ${COMP_WORDS[COMP_CWORD]} == "=" ]] && cut=$current
  for line in "${candidates[@]}"; do
    [[ $line == __files__ ]] && continue
    COMPREPLY+=("${line#"$cut"}")
  done
  [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
}
complete -F _primus_cli primus-cli primus
)sh";

constexpr const char* kZsh = R"sh(#compdef primus-cli primus
# primus-cli completion for zsh: source <(primus-cli completion zsh)
_primus_cli() {
  local -a candidates
  candidates=("${(@f)$(@PROGRAM@ completion query "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ ${candidates[1]} == __files__ && ${#candidates} == 1 ]]; then
    _files
    return
  fi
  candidates=(${candidates:#__files__})
  compadd -- $candidates
}
compdef _primus_cli primus-cli primus
)sh";

constexpr const char* kFish = R"sh(# primus-cli completion for fish: primus-cli completion fish | source
function __primus_cli
  set -l words (commandline -opc) (commandline -ct)
  set -l candidates (@PROGRAM@ completion query $words[2..-1] 2>/dev/null)
  if test "$candidates" = __files__
    __fish_complete_path (commandline -ct)
    return
  end
  string match -v __files__ -- $candidates
end
complete -c primus-cli -f -a '(__primus_cli)'
complete -c primus -f -a '(__primus_cli)'
)sh";

std::string quoted_for_shell(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string with_program(std::string script, const std::string& program) {
  constexpr std::string_view kMark = "@PROGRAM@";
  const std::string quoted = quoted_for_shell(program);
  for (size_t at = script.find(kMark); at != std::string::npos; at = script.find(kMark, at + quoted.size()))
    script.replace(at, kMark.size(), quoted);
  return script;
}

}  // namespace

std::string bash_script(const std::string& program) {
  return with_program(kBash, program);
}

std::string zsh_script(const std::string& program) {
  return with_program(kZsh, program);
}

std::string fish_script(const std::string& program) {
  return with_program(kFish, program);
}

}  // namespace primus::cli
