#!/usr/bin/env bash
# B105, B036 (every rank saves, evaluates and logs; export: hf_start.sh). One rank or several: the same losses.
# The loader is `single`, whose order does not depend on the number of ranks.
# shellcheck source=tests/e2e/lib_train.sh
. "$(dirname "$0")/lib_train.sh"
length=(train_iters=8 save_interval=4 eval_interval=4 dataloader_type=single bf16=false micro_batch_size=2)

train one "${length[@]}"
expect 0 $? "one rank"
for ranks in 2 4; do
  train "ranks-$ranks" --nproc $ranks "${length[@]}"
  expect 0 $? "$ranks ranks"
  close_losses one "ranks-$ranks" 1e-6
  has "$work/log" "$ranks data-parallel ranks"
  checkpoints_are_sound "ranks-$ranks"
  exists "$(run_folder "ranks-$ranks")/logs/rank-1.log"
done

# bf16: rounded sums in another order.
train one-bf16 "${length[@]}" bf16=true
expect 0 $? "one rank, bf16"
train two-bf16 --nproc 2 "${length[@]}" bf16=true
expect 0 $? "two ranks, bf16"
close_losses one-bf16 two-bf16 2e-3

# deterministic_mode: bit for bit.
train one-exact "${length[@]}" deterministic_mode=true
expect 0 $? "one rank, deterministic_mode"
train two-exact --nproc 2 "${length[@]}" deterministic_mode=true
expect 0 $? "two ranks, deterministic_mode"
same_losses one-exact two-exact "deterministic_mode on one and two ranks"

# Stopped on two ranks, continued on one.
train moved --nproc 2 "${length[@]}" exit_interval=4
expect 0 $? "the first half on two ranks"
[ "$(last_step "$(run_folder moved)/metrics.jsonl")" = 4 ] || die "exit_interval did not stop the run"
train moved "${length[@]}"
expect 0 $? "the second half on one rank"
close_losses one moved 1e-6
