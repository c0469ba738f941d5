#!/usr/bin/env bash
# Small experiments of the other dialects train: the loss falls, a run in two parts gives the bits of one in one part, and
# two ranks give the losses of one.
# shellcheck source=tests/e2e/lib_train.sh
. "$(dirname "$0")/lib_train.sh"
steps=20

# experiment NAME FRAMEWORK MODULE MODEL, overrides on standard input.
experiment_file() {
  cat >"$work/$1.yaml" <<YAML
work_group: amd
user_name: root
exp_name: $1
workspace: $work/output
modules:
  pre_trainer:
    framework: $2
    config: $3
    model: $4
    overrides:
YAML
  sed 's/^/      /' >>"$work/$1.yaml"
}

# run EXPERIMENT NAME [options and overrides]
run() {
  local file=$1 name=$2
  shift 2
  "$primus" train pretrain --config "$work/$file.yaml" "exp_name=$name" "$@" >"$work/log" 2>&1
}

# falls RUN: the mean loss of the last five steps is below 0.97 of the first one's.
falls() {
  losses "$(run_folder "$1")/metrics.jsonl" | awk -v n="$steps" '
    NR == 1 { first = $2 } $1 > n - 5 { sum += $2; count += 1 } { last = $1 }
    END { if (last != n || !(sum / count < 0.97 * first)) { print "steps " last ", first " first ", last " sum / count; exit 1 } }' ||
    die "$1: the loss does not fall"
}

# proves EXPERIMENT TOLERANCE [overrides of the run on two ranks]: falls; goes on from its checkpoint of step 10 to the same bits; two ranks say the same.
proves() {
  run "$1" "$1"
  expect 0 $? "$1"
  falls "$1"
  run "$1" "$1-again"
  expect 0 $? "$1 again"
  rm -rf "$(run_folder "$1-again")/checkpoints/step_$steps"* "$(run_folder "$1-again")"/checkpoints/step_*"$steps"
  run "$1" "$1-again" --resume must
  expect 0 $? "$1 from step 10 on"
  has "$work/log" "of step 10 from"
  same_losses "$1" "$1-again" "$1 in one part and in two"
  run "$1" "$1-two" --nproc 2 "${@:3}"
  expect 0 $? "$1 on two ranks"
  close_losses "$1" "$1-two" "$2"
}

# Text for a tokenizer of the numbers that torchtitan's mock data is made of.
seq 0 7 31999 | tr '\n' ' ' >"$work/numbers.txt"
"$primus" tokenizer train --input "$work/numbers.txt" --vocab-size 600 --output "$work/tokenizer" >"$work/log" 2>&1
expect 0 $? "a tokenizer"

titan_common() {
  cat <<YAML
training: {steps: $steps, local_batch_size: 2, global_batch_size: 4, seq_len: 48, mock_data: true, mixed_precision_param: float32}
optimizer: {lr: 1.0e-2}
lr_scheduler: {warmup_steps: 4}
metrics: {log_freq: 1}
checkpoint: {enable: true, interval: 10}
YAML
}
titan_llama="model: {flavor: debugmodel, n_layers: 2, dim: 64, n_heads: 4, n_kv_heads: 2, vocab_size: 700, hf_assets_path: $work/tokenizer}"
titan_qwen="model: {flavor: 0.6B, n_layers: 2, dim: 64, n_heads: 4, n_kv_heads: 2, head_dim: 24, hidden_dim: 96, vocab_size: 700, hf_assets_path: $work/tokenizer}"
{ echo "$titan_llama"; titan_common; } | experiment_file titan torchtitan pre_trainer.yaml llama3_8B.yaml
{ echo "$titan_qwen"; titan_common; } | experiment_file titan-qwen3 torchtitan pre_trainer.yaml qwen3_0.6b.yaml

maxtext_common() {
  cat <<YAML
steps: $steps
per_device_batch_size: 2
max_target_length: 32
dataset_type: synthetic
learning_rate: 2.0e-3
override_model_config: true
override_model: {base_emb_dim: 64, base_num_query_heads: 4, base_num_kv_heads: 2, head_dim: 16, base_mlp_dim: 96, base_num_decoder_layers: 2, vocab_size: 101}
enable_checkpointing: true
checkpoint_period: 10
profiler: ""
YAML
}
{ maxtext_common; printf "dtype: float32\nweight_dtype: float32\n"; } | experiment_file maxtext maxtext pre_trainer.yaml llama2_7B.yaml
{ maxtext_common; printf "weight_dtype: bfloat16\nlogits_via_embedding: true\n"; } | experiment_file maxtext-bf16 maxtext pre_trainer.yaml llama2_7B.yaml

cat <<YAML | experiment_file bridge megatron_bridge pretrain_trainer.yaml llama3_8b.yaml
flavor: llama3_8b_pretrain_config
train_iters: $steps
micro_batch_size: 2
global_batch_size: 4
seq_length: 32
lr: 5.0e-3
min_lr: 5.0e-4
lr_warmup_iters: 2
lr_decay_iters: null
mock: true
dataset: null
context_parallel_size: 1
model: {num_layers: 2, hidden_size: 64, ffn_hidden_size: 96, num_attention_heads: 4, num_query_groups: 2, vocab_size: 500}
tokenizer: {vocab_size: 499}
checkpoint: {save_interval: 10}
eval_iters: 0
log_interval: 1
YAML

# Mamba 2 has no vocabulary of its own: made-up data are numbers below 32,000.
cat <<YAML | experiment_file bridge-mamba megatron_bridge pretrain_trainer.yaml mamba_130M.yaml
flavor: mamba2_130m_pretrain_config
train_iters: $steps
micro_batch_size: 2
global_batch_size: 4
seq_length: 32
lr: 2.0e-2
min_lr: 2.0e-2
lr_warmup_iters: 2
mock: true
use_null_tokenizer: true
model: {num_layers: 3, hidden_size: 64, ffn_hidden_size: 96, mamba_head_dim: 16, mamba_state_dim: 12, num_attention_heads: 4, hybrid_attention_ratio: 0.34}
checkpoint: {save_interval: 10}
eval_iters: 0
log_interval: 1
YAML

titan_two=(parallelism.data_parallel_shard_degree=1 parallelism.data_parallel_replicate_degree=2)
proves titan 1e-5 "${titan_two[@]}"
proves titan-qwen3 1e-5 "${titan_two[@]}"
maxtext_two=(per_device_batch_size=1 ici_data_parallelism=2 ici_fsdp_parallelism=1)
proves maxtext 1e-5 "${maxtext_two[@]}"
proves maxtext-bf16 3e-2 "${maxtext_two[@]}"
proves bridge 2e-3
proves bridge-mamba 2e-3
