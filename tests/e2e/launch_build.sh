#!/usr/bin/env bash
# primus-cli builds: once for two first users, again when a source has changed, never half. On a project of two small files.
# shellcheck source=tests/e2e/lib_launch.sh
. "$(dirname "$0")/lib_launch.sh"

project=$work/project
mkdir -p "$project"/{src,apps,cmake,tools} "$work/torch/lib" "$work/torch/include/torch"
cp "$PRIMUS_SOURCE/primus-cli" "$PRIMUS_SOURCE/CMakePresets.json" "$project/"
cp "$PRIMUS_SOURCE/tools/bootstrap" "$project/tools/"
touch "$project/VERSION" "$work/torch/lib/libtorch_cpu.so" "$work/torch/lib/libc10.so"
cat >"$project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES C)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
add_executable(primus src/primus.c)
add_executable(primus-train src/primus.c)
END
source_file() { printf '#include <stdio.h>\nint main(void) { puts("%s"); return 0; }\n' "$1" >"$project/src/primus.c"; }
export PRIMUS_TORCH_DIR=$work/torch
unset PRIMUS_BUILD_DIR

source_file one
(cd / && "$project/primus-cli" >"$work/out-1" 2>"$work/err-1") &
first=$!
(cd "$work" && "$project/primus-cli" >"$work/out-2" 2>"$work/err-2") &
second=$!
wait $first || { cat "$work/err-1"; die "first user"; }
wait $second || { cat "$work/err-2"; die "second user"; }
[ "$(cat "$work/out-1" "$work/out-2")" = "$(printf 'one\none')" ] || die "output of the first users"
[ "$(cat "$work"/err-? | grep -c 'first build')" = 1 ] || die "built twice: $(cat "$work"/err-?)"
[ "$(cat "$work"/err-? | grep -c 'another process builds')" = 1 ] || die "nobody waited"
[ "$(cat "$work"/err-? | grep -c '\[.*/.* .*s\]')" -ge 1 ] || die "no progress was shown"

"$project/primus-cli" >"$work/out" 2>"$work/err" || die "second use"
[ ! -s "$work/err" ] || die "not quiet when nothing has changed"

sleep 0.02
source_file two
"$project/primus-cli" >"$work/out" 2>"$work/err" || die "after a change"
has "$work/out" "^two\$"
has "$work/err" "sources have changed"

# A build that fails leaves the old stamp, so that the next use tries again.
sleep 0.02
echo "this is not C" >>"$project/src/primus.c"
for _ in 1 2; do
  "$project/primus-cli" >"$work/out" 2>"$work/err"; expect 1 $? "a source that does not compile"
  has "$work/err" "the build failed"
  [ ! -s "$work/out" ] || die "an old program was started"
done
sleep 0.02
source_file three
"$project/primus-cli" >"$work/out" 2>"$work/err" || die "after the repair"
has "$work/out" "^three\$"

# A file that is new or gone is a change too.
sleep 0.02
touch "$project/src/new.c"
"$project/primus-cli" >"$work/out" 2>"$work/err" || die "with a new file"
has "$work/err" "sources have changed"

chmod a-w "$project"
if ! touch "$project/probe" 2>/dev/null; then  # not when this runs as root
  rm -rf "$project/build"
  "$project/primus-cli" >"$work/out" 2>"$work/err"; expect 3 $? "a project that cannot be written"
fi
chmod u+w "$project"
