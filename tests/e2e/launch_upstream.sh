#!/bin/bash
# train --engine upstream: finds the trainer, starts it with torchrun's words under the supervisor, keeps its exit code.
. "$PRIMUS_SOURCE/tests/e2e/lib_launch.sh"
unset BACKEND_PATH PYTHONPATH VIRTUAL_ENV
mkdir -p "$work/Megatron-LM"
: >"$work/Megatron-LM/pretrain_gpt.py"
export PRIMUS_PYTHON=$work/stub

# A dry run prints the command and creates nothing.
train --engine upstream --backend_path "$work/Megatron-LM" --nproc 3 --dry-run; expect 0 $? "dry run"
has "$work/out" "$work/Megatron-LM (--backend_path)"
has "$work/out" "torch.distributed.run --nproc_per_node 3 --nnodes 1 --node_rank 0"
has "$work/out" "$work/Megatron-LM/pretrain_gpt.py"
has "$work/out" "not carried: trainable"
[ -e "$run_folder" ] && die "a dry run created the run folder"

# The trainer gets the arguments and the node variables; its exit code is the job's.
stub 'echo "$@" >"$WORK/words"; env >"$WORK/variables"; echo from the trainer; exit 7'
BACKEND_PATH=$work/Megatron-LM train --engine upstream --nproc 2; expect 7 $? "a trainer that exits 7"
has "$work/words" "--nproc_per_node 2 "
has "$work/words" "--num-layers 22 "
has "$work/variables" "^GPUS_PER_NODE=2$"
has "$work/variables" "^PYTHONPATH=$work/Megatron-LM$"
has "$work/out" "from the trainer"
has "$run_folder/logs/upstream-node-0.log" "from the trainer"

# Nowhere to be found: one sentence, exit code 3.
train --engine upstream --backend_path "$work/nowhere"; expect 3 $? "no trainer"
has "$work/err" "Megatron-LM is not on this machine: no pretrain_gpt.py in $work/nowhere"
# A dry run on such a machine shows the command all the same, and says what is missing.
printf '#!/bin/sh\necho "%s"\n' "$work/no-packages" >"$work/python"
chmod +x "$work/python"
PRIMUS_PYTHON=$work/python train --engine upstream --dry-run; expect 0 $? "dry run without a trainer"
has "$work/err" "warning: Megatron-LM is not on this machine"
has "$work/out" "/path/to/Megatron-LM (not on this machine)"
has "$work/out" "/path/to/Megatron-LM/pretrain_gpt.py --num-layers 22"
train --backend_path "$work/Megatron-LM"; expect 2 $? "a path without the engine"
has "$work/err" "add --engine upstream"
