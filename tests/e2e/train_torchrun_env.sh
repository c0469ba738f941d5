#!/usr/bin/env bash
# primus-train under other launchers: the rank comes from RANK ..., from Slurm's or from Open MPI's variables.
# shellcheck source=tests/e2e/lib_train.sh
. "$(dirname "$0")/lib_train.sh"
length=(train_iters=3 save_interval=3)
train plain "${length[@]}" # also makes the data
expect 0 $? "under primus"

# alone NAME VARIABLE=VALUE ...: one rank, started without primus.
alone() {
  local name=$1
  shift
  env "$@" "$PRIMUS_BIN/primus-train" train pretrain --config "$experiment" "${tiny[@]}" "exp_name=$name" \
    "${length[@]}" >"$work/log" 2>&1
  expect 0 $? "$name"
  same_losses plain "$name" "$name"
  exists "$(run_folder "$name")/logs/rank-0.log" "$(run_folder "$name")/config/resolved.yaml" "$(run_folder "$name")/report.html"
}
address=(MASTER_ADDR=127.0.0.1 MASTER_PORT=29511)
alone by-hand _=
alone torchrun RANK=0 LOCAL_RANK=0 WORLD_SIZE=1 LOCAL_WORLD_SIZE=1 "${address[@]}"
alone slurm SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_STEP_NUM_TASKS=1 SLURM_NTASKS=1 SLURM_STEP_TASKS_PER_NODE=1 SLURM_STEP_NODELIST=localhost \
  SLURM_JOB_ID=4711 SLURM_STEP_ID=0
alone mpirun OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_LOCAL_SIZE=1
# What is said explicitly wins over the scheduler.
alone explicit RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 "${address[@]}" SLURM_PROCID=3 SLURM_STEP_NUM_TASKS=4

# It claims the folder itself, with the same rules.
env RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 "${address[@]}" "$PRIMUS_BIN/primus-train" train pretrain --config "$experiment" \
  "${tiny[@]}" exp_name=torchrun "${length[@]}" hidden_size=32 >"$work/log" 2>&1
expect 2 $? "another experiment in the folder"
has "$work/log" 'different experiment'

# Two ranks as torchrun would start them.
port=$((20000 + RANDOM % 10000))
for rank in 0 1; do
  env RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
    "$PRIMUS_BIN/primus-train" train pretrain --config "$experiment" "${tiny[@]}" exp_name=two "${length[@]}" \
    >"$work/log-$rank" 2>&1 &
done
code=0
for job in $(jobs -p); do wait "$job" || code=$?; done
cat "$work"/log-* >"$work/log"
expect 0 $code "two ranks"
close_losses plain two 2e-3
