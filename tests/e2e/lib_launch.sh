# Shared by the launch tests: a stub in place of primus-train, an experiment that needs no data, and checks.
# PRIMUS_TRAIN_PROGRAM names what the launcher starts instead of primus-train.
set -u
primus=$PRIMUS_BIN/primus
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PRIMUS_WORKSPACE=$work/output PRIMUS_TRAIN_PROGRAM=$work/stub WORK=$work
unset PRIMUS_TEAM PRIMUS_USER PRIMUS_EXP_NAME OMP_NUM_THREADS MASTER_ADDR MASTER_PORT NNODES NODE_RANK GPUS_PER_NODE RANK WORLD_SIZE
experiment=$PRIMUS_SOURCE/examples/megatron/configs/MI300X/tinyllama_1.1B-pretrain.yaml
run_folder=$work/output/amd/root/tinyllama_1.1B-pretrain

# stub BODY: what every rank runs. Its arguments are those of primus-train.
stub() {
  printf '#!/bin/sh\n%s\n' "$1" >"$work/stub"
  chmod +x "$work/stub"
}

train() { "$primus" train pretrain --config "$experiment" "$@" >"$work/out" 2>"$work/err"; }

die() {
  echo "FAILED: $1"
  echo "--- standard output"; cat "$work/out" 2>/dev/null
  echo "--- standard error"; cat "$work/err" 2>/dev/null
  exit 1
}

# expect CODE WHAT: the exit code of the last command.
expect() { [ "$2" = "$1" ] || die "$3: exit code $2 instead of $1"; }
has() { grep -q -- "$2" "$1" || die "$1 lacks '$2'"; }

wait_for() {
  for _ in $(seq 1000); do
    [ -e "$1" ] && return
    sleep 0.02
  done
  die "$1 did not come"
}

# True when no process of this test's stub is left (zombies do not count).
nobody_left() {
  for _ in $(seq 500); do
    left=$(ps -eo stat=,args= | grep -F "$work/stub" | grep -v '^Z' | grep -v grep)
    [ -z "$left" ] && return
    sleep 0.02
  done
  die "still running: $left"
}
