#!/usr/bin/env bash
# A run folder is never mixed up.
# shellcheck source=tests/e2e/lib_train.sh
. "$(dirname "$0")/lib_train.sh"
run=$(run_folder mine)
length=(train_iters=4 save_interval=4)

train mine "${length[@]}"
expect 0 $? "the first run"
cp "$run/metrics.jsonl" "$work/before"

# A different experiment is refused with the three ways out, and nothing is touched.
train mine "${length[@]}" hidden_size=32
expect 2 $? "another experiment in the folder"
has "$work/log" 'different experiment'
has "$work/log" 'hidden_size: 64 before, 32 now'
for way in '--resume auto' '--exp_name' '--overwrite'; do has "$work/log" "$way"; done
cmp "$work/before" "$run/metrics.jsonl" || die "the refused run has touched metrics.jsonl"
exists "$run/checkpoints/step_4/manifest.json"
missing "$run/previous"

# The same experiment that is not to be resumed would overwrite its checkpoints.
train mine "${length[@]}" --resume never
expect 2 $? "--resume never over checkpoints"
has "$work/log" 'fresh start would overwrite'

# Longer is not different.
train mine train_iters=6 save_interval=4
expect 0 $? "the same experiment, longer"
has "$work/log" 'resuming from step 4'
[ "$(last_step "$run/metrics.jsonl")" = 6 ] || die "it was not made longer"

# --overwrite moves everything aside.
train mine "${length[@]}" hidden_size=32 --overwrite
expect 0 $? "--overwrite"
exists "$run/previous/1/metrics.jsonl" "$run/previous/1/checkpoints/step_6/manifest.json" "$run/previous/1/config/resolved.yaml"
[ "$(last_step "$run/metrics.jsonl")" = 4 ] || die "--overwrite did not start afresh"

# Nothing to resume: metrics and logs of the earlier start move on, said in one line.
bare=(train_iters=3 save=None auto_continue_train=false)
train bare "${bare[@]}"
expect 0 $? "a run that saves nothing"
train bare "${bare[@]}"
expect 0 $? "the same again"
has "$work/log" 'moved to .*previous/1'
train bare "${bare[@]}"
exists "$(run_folder bare)/previous/1/metrics.jsonl" "$(run_folder bare)/previous/2/metrics.jsonl" "$(run_folder bare)/metrics.jsonl"

# must
train bare "${bare[@]}" --resume must
expect 2 $? "--resume must without a checkpoint"
has "$work/log" 'no complete checkpoint to resume'

# A start that was refused leaves nothing that stands in the way of a corrected one.
train typo "${length[@]}" prepare_data=None train_data_path=nowhere
expect 2 $? "data that is not there"
train typo "${length[@]}"
expect 0 $? "the corrected experiment in the same folder"

# One job at a time in a folder.
"$primus" train pretrain --config "$experiment" "${tiny[@]}" exp_name=busy train_iters=100000 save_interval=100000 >"$work/first" 2>&1 &
first=$!
wait_for_step busy 2 $first
train busy train_iters=100000 save_interval=100000
expect 2 $? "a second job in the folder"
has "$work/log" 'another job is running in this folder'
kill -TERM $first
wait $first
expect 143 $? "the first job"
missing "$(run_folder busy)/previous"
