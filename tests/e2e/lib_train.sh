# Shared by the training tests: a small experiment in a folder of its own, and checks. No Python, no jq.
# PRIMUS_BIN: folder with the programs. PRIMUS_TEST_FULL=1: tests that have a long form run it.
set -u
source_root=${PRIMUS_SOURCE:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
primus=$PRIMUS_BIN/primus
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# One cache for all runs of a test: the routines chosen by measurement are then the same for all of them.
export XDG_CACHE_HOME=$work/cache PRIMUS_WORKSPACE=$work/output
unset PRIMUS_TEAM PRIMUS_USER PRIMUS_EXP_NAME PRIMUS_FAULT OMP_NUM_THREADS MASTER_ADDR MASTER_PORT NNODES NODE_RANK GPUS_PER_NODE
unset RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE
# The small model gains nothing from a second thread, and threads that wait for each other are slow on a busy machine.
export OMP_NUM_THREADS=1
cd "$source_root" || exit 1
experiment=examples/megatron/configs/CPU/shakespeare_char-pretrain.yaml

# A model of a second a run; data of this test alone.
tiny=(num_layers=2 hidden_size=64 num_attention_heads=2 ffn_hidden_size=96 seq_length=32 micro_batch_size=4 global_batch_size=8
  lr_warmup_iters=2 eval_iters=2 log_interval=1
  "train_data_path=$work/data/train" "valid_data_path=$work/data/valid")

# train NAME [options and overrides]: one run of the small model in the run folder of that name. All output: $work/log.
train() {
  local name=$1
  shift
  "$primus" train pretrain --config "$experiment" "${tiny[@]}" "exp_name=$name" "$@" >"$work/log" 2>&1
}
run_folder() { echo "$work/output/amd/root/$1"; }

die() {
  echo "FAILED: $1"
  echo "--- output of the last command"; tail -50 "$work/log" 2>/dev/null
  exit 1
}

# expect CODE GOT WHAT: the exit code of the last command.
expect() { [ "$2" = "$1" ] || die "$3: exit code $2 instead of $1"; }
has() { grep -q -- "$2" "$1" || die "$1 lacks '$2'"; }
lacks() { ! grep -q -- "$2" "$1" || die "$1 has '$2'"; }
exists() { for path in "$@"; do [ -e "$path" ] || die "$path is missing"; done; }
missing() { for path in "$@"; do [ ! -e "$path" ] || die "$path should not be there"; done; }

# losses METRICS_FILE: "step loss" of every training step, losses digit by digit.
losses() { sed -n 's/^{"step":\([0-9]*\),"loss":\([^,]*\),.*/\1 \2/p' "$1"; }

# same_losses RUN RUN WHAT: bit for bit, since metrics.jsonl holds numbers that round-trip.
same_losses() {
  losses "$(run_folder "$1")/metrics.jsonl" >"$work/losses-1"
  losses "$(run_folder "$2")/metrics.jsonl" >"$work/losses-2"
  [ -s "$work/losses-1" ] || die "$3: no losses"
  diff "$work/losses-1" "$work/losses-2" || die "$3: the losses differ"
}

# close_losses RUN RUN TOLERANCE: relative difference of every step's loss.
close_losses() {
  losses "$(run_folder "$1")/metrics.jsonl" >"$work/losses-1"
  losses "$(run_folder "$2")/metrics.jsonl" >"$work/losses-2"
  paste -d ' ' "$work/losses-1" "$work/losses-2" | awk -v most="$3" '
    { d = ($2 - $4) / $2; if (d < 0) d = -d; if ($1 != $3 || !(d <= most)) { print "step " $1 ": " $2 " and " $4; bad = 1 } }
    END { exit bad || NR == 0 }' || die "$1 and $2 differ by more than $3"
}

# wait_for_step RUN STEP PROCESS: until the run's metrics hold that step; the process must still run then.
wait_for_step() {
  for _ in $(seq 3000); do
    grep -q "^{\"step\":$2,\"loss\"" "$(run_folder "$1")/metrics.jsonl" 2>/dev/null && return
    kill -0 "$3" 2>/dev/null || die "$1 ended before step $2"
    sleep 0.01
  done
  die "$1 did not reach step $2"
}

last_step() { losses "$1" | tail -1 | cut -d ' ' -f 1; }
checkpoints_are_sound() { "$primus" checkpoint verify --run "$(run_folder "$1")" >"$work/log" 2>&1 || die "$1: unsound checkpoints"; }
