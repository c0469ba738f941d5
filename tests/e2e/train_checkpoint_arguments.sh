#!/usr/bin/env bash
# B021. What is written now wins over what the saving run had, and its ranks and paths are its own.
# shellcheck source=tests/e2e/lib_train.sh
. "$(dirname "$0")/lib_train.sh"
length=(lr_warmup_iters=1 save_interval=2 eval_interval=2 max_position_embeddings=64)

train saved --nproc 2 "${length[@]}" train_iters=2
expect 0 $? "two ranks, 32 tokens a sequence"
[ "$(last_step "$(run_folder saved)/metrics.jsonl")" = 2 ] || die "the first run has not saved step 2"

from=(finetune=false "load=$(run_folder saved)/checkpoints")
train longer "${length[@]}" train_iters=3 seq_length=64 "${from[@]}"
expect 0 $? "one rank, 64 tokens a sequence"
# 2 steps of 8 x 32 tokens, then one of 8 x 64.
has "$(run_folder longer)/metrics.jsonl" '"step":3,'
has "$(run_folder longer)/metrics.jsonl" '"tokens":1024,'
lacks "$(run_folder longer)/logs/launcher.log" "2 ranks"
[ -e "$(run_folder saved)/checkpoints/step_3" ] && die "the second run saved into the first one's folder"

train copied "${length[@]}" train_iters=3 "${from[@]}" use_checkpoint_args=true
expect 2 $? "arguments from a checkpoint"
has "$work/log" "use_checkpoint_args"
has "$work/log" "arguments from a checkpoint"
