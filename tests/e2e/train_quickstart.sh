#!/usr/bin/env bash
# The README's experiment, shortened: trains, evaluates, saves, prints text, and leaves the run folder that scripts rely on.
# shellcheck source=tests/e2e/lib_train.sh
. "$(dirname "$0")/lib_train.sh"
unset OMP_NUM_THREADS
run=$(run_folder shakespeare_char-pretrain)
steps=40
if [ -n "${PRIMUS_TEST_FULL:-}" ]; then
  steps=2000
  "$primus" train pretrain --config "$experiment" >"$work/log" 2>&1
  code=$?
else
  train shakespeare_char-pretrain train_iters=$steps eval_interval=20 save_interval=20 log_interval=10 lr=5e-3
  code=$?
fi
expect 0 $code "training"

# Console: header (whose line on weight decay is B094's list),  table, evaluation, text, where everything lies.
for word in 'framework   megatron' 'model       shakespeare_char.yaml' 'tokenizer   CharTokenizer' 'parameters  ' 'precision   ' \
  'decay       0.1 on ' \
  'machine     ' 'run folder  ' 'step      loss' 'validation loss' 'a sample of what the model writes now' \
  "metrics     $run/metrics.jsonl" "report      $run/report.html" "checkpoints $run/checkpoints" "done: $steps steps"; do
  has "$work/log" "$word"
done
# Two layers of seven matrices each, table and head; two gains a layer and the last one.
[ "$steps" = 2000 ] || has "$work/log" 'on 16 tensors (.* weights), none on 5 vectors (320.* weights)'
[ "$(grep -c . "$work/log")" -lt 200 ] || die "the console shows more than a page or two"

# metrics.jsonl: one row a step with every promised field, evaluations as rows of their own.
metrics=$run/metrics.jsonl
[ "$(losses "$metrics" | wc -l)" = $steps ] || die "not one row a step"
for field in step loss grad_norm lr tokens step_ms tokens_per_s model_flops mfu skipped nan; do
  [ "$(grep '"loss":' "$metrics" | grep -vc "\"$field\":")" = 0 ] || die "a row of metrics.jsonl lacks $field"
done
[ "$(grep -c '^{"step":[0-9]*,"val_loss":[0-9.]*}$' "$metrics")" -ge 2 ] || die "no rows of evaluations"
losses "$metrics" | awk 'NR == 1 { first = $2 } { last = $2 } END { exit !(last < first - 0.3) }' || die "the loss does not fall"
if [ "$steps" = 2000 ]; then
  grep '"val_loss"' "$metrics" | tail -1 | sed 's/.*"val_loss":\([0-9.]*\)}/\1/' | awk '{ exit !($1 < 1.65) }' ||
    die "the validation loss does not end below 1.65"
fi

# The other files.
exists "$run/report.html" "$run/config/resolved.yaml" "$run/config/origin.json" "$run/logs/rank-0.log" "$run/logs/launcher.log" \
  "$run/checkpoints/step_$steps/manifest.json"
has "$run/report.html" '<svg'
has "$run/report.html" 'config/resolved.yaml'
lacks "$run/report.html" 'https\?://[a-z]*\.[a-z]*/.*\.js'
has "$run/logs/rank-0.log" "done: $steps steps"
checkpoints_are_sound shakespeare_char-pretrain

# What was run can be run again: it resolves to the same text.
"$primus" config show --config "$run/config/resolved.yaml" >"$work/again.yaml" 2>"$work/log" || die "resolved.yaml does not load"
diff "$run/config/resolved.yaml" "$work/again.yaml" >"$work/log" || die "resolved.yaml does not come back as it is"

# The report can be made again.
rm "$run/report.html"
"$primus" report "$run" >"$work/log" 2>&1 || die "report"
exists "$run/report.html"

# From another folder: the shipped text and characters are found, and what is made lies there.
mkdir "$work/elsewhere"
(cd "$work/elsewhere" && PRIMUS_WORKSPACE=./output "$primus" train pretrain --config "$source_root/$experiment" train_iters=2 \
  lr_warmup_iters=1 eval_iters=1 num_layers=1) >"$work/log" 2>&1
expect 0 $? "training from another folder"
exists "$work/elsewhere/output/amd/root/shakespeare_char-pretrain/report.html"
