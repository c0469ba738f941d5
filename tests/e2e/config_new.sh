#!/bin/bash
# config new asks for what no option gives: answers may come through a pipe, and silence is a refusal.
. "$PRIMUS_SOURCE/tests/e2e/lib_launch.sh"
cd "$PRIMUS_SOURCE" || exit 1

printf 'torchtitan\nqwen3_8b\nCPU\nmine\n' | "$primus" config new --output "$work/asked.yaml" >"$work/out" 2>"$work/err"
expect 0 $? "answers in a pipe"
has "$work/err" "framework \[megatron\]:"
has "$work/asked.yaml" "framework: torchtitan"
has "$work/asked.yaml" "model: qwen3_8b.yaml"
has "$work/asked.yaml" "PRIMUS_EXP_NAME:mine"
"$primus" config check "$work/asked.yaml" >"$work/out" 2>"$work/err"; expect 0 $? "the experiment that was made"

"$primus" config new --output "$work/none.yaml" </dev/null >"$work/out" 2>"$work/err"; expect 2 $? "no answers"
has "$work/err" "no framework is given"
sleep 1 | "$primus" config new --output "$work/none.yaml" >"$work/out" 2>"$work/err"; expect 2 $? "a silent pipe"
[ -e "$work/none.yaml" ] && die "a refusal wrote a file"
"$primus" config new --framework megatron --model llama3_8B --output "$work/flags.yaml" </dev/null >"$work/out" 2>"$work/err"
expect 0 $? "options only"
grep -q ": $" "$work/err" && die "asked although everything was given"
exit 0
