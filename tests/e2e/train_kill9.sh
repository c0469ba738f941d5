#!/usr/bin/env bash
# kill -9 at any time, also in the middle of a save: the next start goes on to the very same losses. A full disk leaves the
# old checkpoint and says so.
# shellcheck source=tests/e2e/lib_train.sh
. "$(dirname "$0")/lib_train.sh"
steps=12
length=("train_iters=$steps" save_interval=3 eval_interval=1000)

train whole "${length[@]}"
expect 0 $? "the uninterrupted run"

# killed RUN FAULT: restarts until the run ends, the first time with a fault, and compares.
killed() {
  PRIMUS_FAULT=$2 train "$1" "${length[@]}"
  expect 137 $? "$1: the start with PRIMUS_FAULT=$2"
  train "$1" "${length[@]}"
  expect 0 $? "$1: the start after PRIMUS_FAULT=$2"
  same_losses whole "$1" "killed at $2"
  checkpoints_are_sound "$1"
  [ -z "$(find "$(run_folder "$1")/checkpoints" -name '.*' ! -name . -print -quit)" ] || die "$1: left-overs of the broken save"
}

# Steps of files below checkpoints/: the first save, the second one, the removal of old ones (keep_last is 2). Every one
# with PRIMUS_TEST_FULL=1; tests/property/ckpt ends a single save at each of its steps in any case.
faults="5 24 47"
[ -z "${PRIMUS_TEST_FULL:-}" ] || faults=$(seq 1 50)
for n in $faults; do killed "fault-$n" "$n:kill:checkpoints"; done
# The metrics file is cut back by a rename.
killed metrics "3:kill:metrics.jsonl"

# From outside, between any two instructions.
rounds=2
[ -z "${PRIMUS_TEST_FULL:-}" ] || rounds=20
for round in $(seq "$rounds"); do
  name=random-$round
  "$primus" train pretrain --config "$experiment" "${tiny[@]}" "exp_name=$name" "${length[@]}" >"$work/log" 2>&1 &
  launcher=$!
  wait_for_step "$name" $((RANDOM % 7 + 2)) $launcher
  kill -9 $launcher
  wait $launcher 2>/dev/null
  # The rank dies with its launcher; only then may another one start.
  for _ in $(seq 500); do
    pgrep -f "primus-train.*exp_name=$name" >/dev/null || break
    sleep 0.01
  done
  train "$name" "${length[@]}"
  expect 0 $? "$name: the start after kill -9"
  same_losses whole "$name" "killed from outside in round $round"
done

# A disk that fills up during the second save.
train full-disk "${length[@]}" exit_interval=3
expect 0 $? "full-disk: the first part"
PRIMUS_FAULT=4:enospc:checkpoints train full-disk "${length[@]}"
expect 1 $? "full-disk"
has "$work/log" 'checkpoint of step 6 was not saved'
has "$work/log" 'No space left on device'
has "$work/log" 'earlier checkpoints are untouched'
exists "$(run_folder full-disk)/checkpoints/step_3/manifest.json"
missing "$(run_folder full-disk)/checkpoints/step_6"
checkpoints_are_sound full-disk
train full-disk "${length[@]}"
expect 0 $? "full-disk: with space again"
same_losses whole full-disk "after a full disk"

# The variable is for tests; a value that makes no sense is refused.
PRIMUS_FAULT=sometimes train nonsense "${length[@]}"
expect 2 $? "PRIMUS_FAULT=sometimes"
