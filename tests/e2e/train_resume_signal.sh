#!/usr/bin/env bash
# Ctrl-C and SIGTERM save and end with 128 + n; the same command goes on, to the very same losses.
# shellcheck source=tests/e2e/lib_train.sh
. "$(dirname "$0")/lib_train.sh"
steps=150
length=("train_iters=$steps" save_interval=1000 eval_interval=50)

train whole "${length[@]}"
expect 0 $? "the uninterrupted run"

# interrupted RUN SIGNAL CODE
interrupted() {
  # bash starts background jobs with SIGINT ignored; a program started from a terminal has it.
  "$primus" train pretrain --config "$experiment" "${tiny[@]}" "exp_name=$1" "${length[@]}" >"$work/log" 2>&1 &
  local launcher=$!
  wait_for_step "$1" 5 $launcher
  kill "-$2" $launcher
  wait $launcher
  expect "$3" $? "SIG$2"
  has "$work/log" 'stopped by signal'
  local step
  step=$(last_step "$(run_folder "$1")/metrics.jsonl")
  [ "$step" -lt $steps ] || die "the run was over before SIG$2 came"
  exists "$(run_folder "$1")/checkpoints/step_$step/manifest.json"
  checkpoints_are_sound "$1"

  train "$1" "${length[@]}"
  expect 0 $? "the second start"
  has "$work/log" "resuming from step $step"
  same_losses whole "$1" "after SIG$2 at step $step"
  # Evaluations too.
  diff <(grep val_loss "$(run_folder whole)/metrics.jsonl") <(grep val_loss "$(run_folder "$1")/metrics.jsonl") ||
    die "the validation losses differ after SIG$2"
}
interrupted by-term TERM 143
set -m # a job of its own: SIGINT is not ignored
interrupted by-int INT 130

# Started once more when all is done: nothing is trained, nothing is lost.
train by-term "${length[@]}"
expect 0 $? "a third start"
same_losses whole by-term "after a start with nothing left to do"
