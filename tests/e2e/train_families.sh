#!/usr/bin/env bash
# Every family trains, as upstream's preset has it and as it was published: the loss falls, a run in two parts gives the
# bits of one in one part, and the weights leave as a Hugging Face folder that verifies and gives the run's own loss.
# With PRIMUS_TEST_FULL=1 the shipped lengths, otherwise a few short steps.
# shellcheck source=tests/e2e/lib_train.sh
. "$(dirname "$0")/lib_train.sh"

if [ -n "${PRIMUS_TEST_FULL:-}" ]; then
  steps=50 small=()
else
  steps=8 small=(seq_length=32 max_position_embeddings=32 micro_batch_size=1 global_batch_size=4)
fi
half=$((steps / 2))
common=("${small[@]}" "train_iters=$steps" "lr_decay_iters=$steps" "save=$work/unused" save_interval="$half" disable_last_saving=false
  auto_continue_train=false log_interval=1 eval_iters=0 lr=1.0e-3 min_lr=1.0e-3 lr_warmup_iters=1 moe_router_force_load_balancing=false)

# run FILE NAME [options and overrides]
run() {
  local file=$1 name=$2
  shift 2
  "$primus" train pretrain --config "$file" "${common[@]}" "exp_name=$name" "workspace=$work/output" "$@" >"$work/log" 2>&1
}

# falls RUN: the mean loss of the last quarter is below the first step's.
falls() {
  losses "$(run_folder "$1")/metrics.jsonl" | awk -v n="$steps" '
    NR == 1 { first = $2 } $1 > n - n / 4 { sum += $2; count += 1 } { last = $1 }
    END { if (last != n || !(sum / count < first)) { print "steps " last ", first " first ", last " sum / count; exit 1 } }' ||
    die "$1: the loss does not fall"
}

# exports RUN: the newest checkpoint as a Hugging Face folder with the same logits.
exports() {
  "$primus" checkpoint export-hf "$(run_folder "$1")" --output "$work/$1-hf" --dtype fp32 >"$work/log" 2>&1 || die "$1: export"
  "$primus" checkpoint verify "$work/$1-hf" --values >"$work/log" 2>&1 || die "$1: the exported folder"
  echo '{"input_ids": [[3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5]]}' >"$work/tokens.json"
  "$primus" model logits --run "$(run_folder "$1")" --tokens "$work/tokens.json" --output "$work/ours" >"$work/log-ours" 2>&1 || die "$1: logits"
  "$primus" model logits --hf "$work/$1-hf" --tokens "$work/tokens.json" --output "$work/theirs" >"$work/log" 2>&1 || die "$1: logits of the export"
  # Two spellings of one router (softmax over the chosen, or over all and renormalised) round differently.
  sed -n 's/^loss //p' "$work/log-ours" "$work/log" | awk '
    { loss[NR] = $1 } END { d = (loss[1] - loss[2]) / loss[1]; if (NR != 2 || d > 1e-6 || d < -1e-6) { print loss[1], loss[2]; exit 1 } }' ||
    die "$1: the exported weights give another loss"
}

# proves FILE NAME exports|keeps: what the head says; `keeps`: no Hugging Face family holds the model as upstream trains it.
proves() {
  local file=$1 name=$2 weights=$3
  run "$file" "$name"
  expect 0 $? "$name"
  falls "$name"
  run "$file" "$name-again"
  expect 0 $? "$name again"
  rm -rf "$(run_folder "$name-again")"/checkpoints/step_*"$steps"
  run "$file" "$name-again" --resume must
  expect 0 $? "$name from step $half on"
  has "$work/log" "of step $half from"
  same_losses "$name" "$name-again" "$name in one part and in two"
  if [ "$weights" = exports ]; then
    exports "$name"
  else
    "$primus" checkpoint export-hf "$(run_folder "$name")" --output "$work/$name-hf" >"$work/log" 2>&1
    expect 2 $? "$name: an export that no family can hold"
  fi
  rm -rf "$work/output" "$work/$name-hf"
}

# As upstream trains them, and as published, shrunk by --proxy.
upstream=(qwen3_30B_A3B:exports deepseek_v3:keeps gpt_oss_20B:keeps mamba_370M:keeps)
published=(deepseek_v3 gpt_oss_20B llama4_17B16E lfm2_8B_A1B qwen3_5_35B_A3B)
if [ -n "${PRIMUS_TEST_FULL:-}" ]; then
  upstream+=(lfm2_8B_A1B:keeps qwen3_5_35B_A3B:keeps qwen2.5_7B:exports mixtral_8x7B_v0.1:exports grok1:exports kimi_k2:keeps llama4_17B16E:keeps)
  published+=(deepseek_v2_lite glm4_7 grok1 grok2 mamba_370M)
fi

for family in "${upstream[@]}"; do
  name=${family%:*}
  proves "examples/megatron/configs/CPU/$name-pretrain.yaml" "$name" "${family#*:}"
done

for preset in "${published[@]}"; do
  cat >"$work/whole.yaml" <<YAML
work_group: amd
user_name: root
exp_name: $preset
workspace: $work/output
modules:
  pre_trainer:
    framework: megatron
    config: pre_trainer.yaml
    model: $preset-hf.yaml
    overrides:
      mock_data: true
      tokenizer_type: NullTokenizer
      vocab_size: 500
      padded_vocab_size: null
YAML
  # --proxy by itself would also choose the number of steps.
  "$primus" config proxy --config "$work/whole.yaml" --output "$work/$preset.yaml" >"$work/log" 2>&1
  expect 0 $? "$preset-hf shrunk"
  proves "$work/$preset.yaml" "$preset-hf" exports
done
