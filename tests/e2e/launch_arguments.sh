#!/usr/bin/env bash
# What the user typed reaches every rank byte by byte; the environment of a rank is complete; --dry-run creates nothing.
# shellcheck source=tests/e2e/lib_launch.sh
. "$(dirname "$0")/lib_launch.sh"

stub 'if [ "$RANK" = 1 ]; then for word in "$@"; do printf "<%s>\n" "$word"; done >"$WORK/arguments"; env >"$WORK/env"; fi'
"$primus" direct --env FOO_LEVEL=3 -- train pretrain --config "$experiment" --nproc 2 \
  --wandb_exp_name "my run" --wandb_project='x*y' seed=7 --lr 2.0e-5 >"$work/out" 2>"$work/err"
expect 0 $? "a run with odd arguments"
cat >"$work/expected" <<END
<train>
<pretrain>
<--config>
<$experiment>
<--wandb_exp_name>
<my run>
<--wandb_project=x*y>
<seed=7>
<--lr>
<2.0e-5>
END
diff "$work/expected" "$work/arguments" || die "arguments differ"
for line in RANK=1 LOCAL_RANK=1 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 FOO_LEVEL=3; do
  grep -qx "$line" "$work/env" || die "a rank lacks $line"
done
grep -q '^MASTER_PORT=[0-9]*$' "$work/env" || die "a rank lacks MASTER_PORT"
threads=$(sed -n 's/^OMP_NUM_THREADS=//p' "$work/env")
[ "$threads" -ge 1 ] && { [ $((threads * 2)) -le "$(nproc)" ] || [ "$threads" = 1 ]; } || die "$threads threads"
[ "$(grep -c '^launch: [0-9]* rank' "$work/err")" = 1 ] || die "the layout is to be printed once"

rm -rf "$work/output"  # another experiment in the same folder would be refused
ranks=$(($(nproc) + 1))
stub 'exit 0'
train --nproc $ranks --global_batch_size $((2 * ranks)) || die "more ranks than cores"
[ "$(grep -c 'warning: .* share' "$work/err")" = 1 ] || die "one warning about shared cores was expected"

rm -rf "$work/output"
train --nproc 2 --dry-run --wandb_exp_name "my run" || die "dry run"
has "$work/out" "run folder: $run_folder"
has "$work/out" "--wandb_exp_name 'my run'"
has "$work/out" "RANK=1"
[ ! -e "$work/output" ] || die "a dry run has made $work/output"
train --nproc 2 --dry-run --format json || die "dry run as JSON"
python3 -c 'import json,sys; d = json.load(open(sys.argv[1])); assert d["world_size"] == 2 and len(d["ranks"]) == 2' "$work/out" || die "JSON"

# Mistakes are found before any process starts.
stub ': >"$WORK/started"'
train --train_iter 5; expect 2 $? "an unknown key"
has "$work/err" "train_iters"
train --nproc 0; expect 2 $? "--nproc 0"
"$primus" train pretrain --config "$work/none.yaml" >"$work/out" 2>"$work/err"; expect 2 $? "a missing experiment"
GPUS_PER_NODE=0 train; expect 2 $? "GPUS_PER_NODE=0"
NNODES=2 NODE_RANK=0 train; expect 2 $? "two nodes without an address"
[ ! -e "$work/started" ] || die "a rank was started"
