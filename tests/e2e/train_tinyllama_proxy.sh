#!/usr/bin/env bash
# The guide's experiment as it stands: resolves, passes the check, and trains here with --proxy. The first lines of its log
# say what is trained; the tokenizer is named although mock data needs none.
# shellcheck source=tests/e2e/lib_train.sh
. "$(dirname "$0")/lib_train.sh"
unset OMP_NUM_THREADS
experiment=examples/megatron/configs/MI300X/tinyllama_1.1B-pretrain.yaml

"$primus" config check --config "$experiment" >"$work/log" 2>&1
expect 0 $? "config check"
short=(train_iters=3)
[ -z "${PRIMUS_TEST_FULL:-}" ] || short=()
"$primus" direct -- train pretrain --config "$experiment" --proxy "${short[@]}" >"$work/log" 2>&1
expect 0 $? "training"
has "$work/log" 'proxy:'
has "$work/log" 'hidden_size'
sed '1,/^launch: /d' "$work/log" | head -10 >"$work/head"
has "$work/head" 'framework .*megatron'
has "$work/head" 'model .*tinyllama_1.1B.yaml'
has "$work/head" 'tokenizer .*TinyLlama/TinyLlama-1.1B-Chat-v1.0 (not loaded: mock_data)'

run=$work/output/amd/root/tinyllama_1.1B-pretrain
exists "$run/report.html" "$run/config/resolved.yaml"
[ -n "${PRIMUS_TEST_FULL:-}" ] || [ "$(losses "$run/metrics.jsonl" | wc -l)" = 3 ] || die "not one row a step"
missing "$run/checkpoints" # save: null

# A pure function of the experiment: the same rules every time.
for n in 1 2; do "$primus" config schedule --config "$experiment" --proxy --format json >"$work/schedule-$n" 2>"$work/log" || die "config schedule --proxy"; done
cmp "$work/schedule-1" "$work/schedule-2" || die "--proxy gave two different experiments"
