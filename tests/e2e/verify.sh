#!/usr/bin/env bash
# verify with real runs: all stages of a Llama pass, a stage that fails says why, nothing is left behind.
# shellcheck source=tests/e2e/lib_train.sh
. "$(dirname "$0")/lib_train.sh"
unset OMP_NUM_THREADS
export TMPDIR=$work/tmp
mkdir "$TMPDIR"

llama=examples/megatron/configs/MI300X/llama3.2_1B-BF16-pretrain.yaml
"$primus" verify --config "$llama" tensor_model_parallel_size=1 >"$work/log" 2>&1
expect 0 $? "verify of a Llama"
has "$work/log" '^resolution  *passed'
has "$work/log" '^tokenizer  *not needed'
has "$work/log" '^mock steps  *passed .* 3 of 3 steps, loss'
has "$work/log" '^one device  *passed .* 10 of 10 steps, loss'
has "$work/log" '^parallel layout  *not needed'
[ -z "$(ls -A "$TMPDIR")" ] || die "the temporary folder is left behind"

# A real tokenizer that is not there: said before anything is trained.
"$primus" verify --config "$llama" mock_data=false train_data_path=/nowhere/a valid_data_path=/nowhere/a \
  tokenizer_model=/nowhere/tokenizer --format json >"$work/log" 2>&1
expect 4 $? "verify without a tokenizer"
has "$work/log" '"passed": false'
has "$work/log" '"state": "failed"'
has "$work/log" '"state": "not reached"'

# A learning rate that blows up.
"$primus" verify --config "$llama" lr=1.0e+30 min_lr=1.0e+30 lr_warmup_iters=0 clip_grad=0.0 >"$work/log" 2>&1
expect 4 $? "verify of a run that blows up"
has "$work/log" '^mock steps  *FAILED'
has "$work/log" '  try: '

# Asked to stop: no process stays, no folder stays.
"$primus" verify --config "$llama" >"$work/log" 2>&1 &
verify=$!
for _ in $(seq 100); do
  pgrep -f "$TMPDIR/primus-verify" >/dev/null && break
  sleep 0.1
done
kill -TERM "$verify"
wait "$verify"
code=$?
[ "$code" = 143 ] || die "after SIGTERM: exit code $code"
sleep 0.5
pgrep -f "$TMPDIR/primus-verify" >/dev/null && die "a process is left behind"
[ -z "$(ls -A "$TMPDIR")" ] || die "the temporary folder is left behind after SIGTERM"
echo "verify: all passed"
