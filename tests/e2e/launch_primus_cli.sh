#!/usr/bin/env bash
# primus-cli itself: from any folder, through links, arguments exact, and a single `find` when nothing has changed.
# shellcheck source=tests/e2e/lib_launch.sh
. "$(dirname "$0")/lib_launch.sh"

# A build that is up to date: both programs (here stubs) and a fresh stamp.
export PRIMUS_BUILD_DIR=$work/build PRIMUS_TORCH_DIR=$work/torch
mkdir -p "$work/build/bin" "$work/torch/lib" "$work/elsewhere" "$work/only"
touch "$work/torch/lib/libtorch_cpu.so"
stub 'pwd; for word in "$@"; do printf "<%s>\n" "$word"; done; exit 9'
cp "$work/stub" "$work/build/bin/primus"
cp "$work/stub" "$work/build/bin/primus-train"
printf '%s\n%s\n' "$PRIMUS_TORCH_DIR" "$work/torch" >"$work/build/primus-cli.stamp"

# Nothing but find (and what a link needs) can be started: any other program would be an error.
for tool in find readlink; do ln -s "$(command -v $tool)" "$work/only/$tool"; done
ln -s "$PRIMUS_SOURCE/primus-cli" "$work/elsewhere/link"
ln -s link "$work/elsewhere/link-to-link"
for command in "$PRIMUS_SOURCE/primus-cli" "$work/elsewhere/link" "$work/elsewhere/link-to-link"; do
  (cd "$work/elsewhere" && PATH=$work/only "$command" train 'my run' 'x*y' '' '$HOME') >"$work/out" 2>"$work/err"
  expect 9 $? "$command"
  printf '%s\n<train>\n<my run>\n<x*y>\n<>\n<$HOME>\n' "$work/elsewhere" | diff - "$work/out" || die "$command: arguments"
  [ ! -s "$work/err" ] || die "$command is not quiet"
done

# A source that is newer than the stamp is noticed: without the tools of a build that is an error, not the old program.
touch -d '2001-01-01' "$work/build/primus-cli.stamp"
PATH=$work/only "$PRIMUS_SOURCE/primus-cli" train >"$work/out" 2>"$work/err"; code=$?
[ $code -ne 9 ] && [ $code -ne 0 ] || die "an outdated program was started"

# A torch that has gone away is noticed as well, and the sentence says what to do.
printf '%s\n%s\n' "$PRIMUS_TORCH_DIR" "$work/torch" >"$work/build/primus-cli.stamp"
rm "$work/torch/lib/libtorch_cpu.so"
touch "$work/torch/something"
"$PRIMUS_SOURCE/primus-cli" train >"$work/out" 2>"$work/err"; code=$?
expect 3 $code "a torch that is gone"
has "$work/err" "holds something, but no torch"
