#!/usr/bin/env bash
# Continued pre-training of Hugging Face weights, and Hugging Face folders made on the way: what comes in goes out, the
# first loss is that of the weights, two ranks say the same, and a run that cannot start or export says why.
# shellcheck source=tests/e2e/lib_train.sh
. "$(dirname "$0")/lib_train.sh"
models=tests/golden/hf_models

# case_file CASE: an experiment with that checkpoint's model, on made-up data: $work/CASE.yaml
case_file() {
  "$primus" config import-hf "$models/$1" >"$work/preset" 2>"$work/log" || die "config import-hf $1"
  {
    cat <<YAML
work_group: amd
user_name: root
exp_name: $1
workspace: $work/output
modules:
  pre_trainer:
    framework: megatron
    config: pre_trainer.yaml
    model: language_model.yaml
    overrides:
      mock_data: true
      tokenizer_type: NullTokenizer
      vocab_size: 98
      seq_length: 16
      train_iters: 2
      micro_batch_size: 2
      global_batch_size: 4
      lr: 1.0e-3
      lr_decay_style: constant
      auto_continue_train: true
      lr_warmup_iters: 0
      bf16: false
      save: checkpoints
      save_interval: 2
      eval_iters: 0
      log_interval: 1
      init_from: $source_root/$models/$1
      export_every: 1
YAML
    sed -n '/^[a-z]/p' "$work/preset" | grep -v '^extends' | sed 's/^/      /'
  } >"$work/$1.yaml"
}

# run EXPERIMENT NAME [options and overrides]
run() {
  local file=$1 name=$2
  shift 2
  "$primus" train pretrain --config "$work/$file.yaml" "exp_name=$name" "$@" >"$work/log" 2>&1
}

# number FILE NAME: the first f32 of a tensor in a safetensors file.
number() {
  local length begin
  length=$(od -An -tu8 -N8 "$1" | tr -d ' ')
  begin=$(head -c $((8 + length)) "$1" | tail -c +9 | sed "s/.*\"$2\":{[^}]*\"data_offsets\":\[\([0-9]*\),.*/\1/")
  od -An -tf4 -j $((8 + length + begin)) -N4 "$1" | tr -d ' '
}

# same_logits FILE FILE WHAT: within rounding, since the two descriptions of a router may be another spelling of one formula.
same_logits() {
  for file in "$1" "$2"; do
    od -An -v -w4 -tf4 -j $((8 + $(od -An -tu8 -N8 "$file"))) "$file" >"$file.numbers"
  done
  paste "$1.numbers" "$2.numbers" | awk '
    NF != 2 { bad = 1 } { d = $1 - $2; if (d < 0) d = -d; if (d > most) most = d; if ($1 > top) top = $1 }
    END { if (bad || NR < 99 || !(most <= 2e-6 * top)) { print most " apart, up to " top; exit 1 } }' || die "$3"
}

# logits OUTPUT [source]: the logits of tokens.json.
logits() {
  local output=$1
  shift
  "$primus" model logits "$@" --tokens "$work/tokens.json" --output "$output" >"$work/log" 2>&1
  expect 0 $? "model logits $*"
}

for case in llama_bias_llama3 qwen3_moe_window deepseek_v3_groups_yarn; do
  case_file $case
  run $case $case
  expect 0 $? "$case"
  folder=$(run_folder $case)
  has "$work/log" "missing 0"
  has "$work/log" "exported step 2 to"
  exists "$folder"/hf/step_{1,2}/{config.json,generation_config.json,model.safetensors}
  has "$folder/config/resolved.yaml" "init_from: .*$models/$case"

  # The run's checkpoint and its last export are the same model.
  cp "$models/$case/tokens.json" "$work/tokens.json"
  logits "$work/run.safetensors" --run "$folder"
  logits "$work/export.safetensors" --hf "$folder/hf/step_2"
  same_logits "$work/run.safetensors" "$work/export.safetensors" "$case: the export computes otherwise than the run"
  logits "$work/first.safetensors" --hf "$models/$case"
  ! cmp -s "$work/run.safetensors" "$work/first.safetensors" || die "$case: nothing was trained"

  # B036: an export between steps on two ranks.
  run $case $case-two --nproc 2 use_distributed_optimizer=true
  expect 0 $? "$case on two ranks"
  close_losses $case $case-two 1e-6
done

# The loss of the first step is the loss of the folder's weights.
llama=$models/llama_bias_llama3
one_sequence=(micro_batch_size=1 global_batch_size=1 train_iters=1)
run llama_bias_llama3 one "${one_sequence[@]}"
expect 0 $? "one sequence"
"$primus" data inspect --config "$work/llama_bias_llama3.yaml" "${one_sequence[@]}" --samples 1 --format json >"$work/samples" \
  2>"$work/log"
expect 0 $? "data inspect"
tr -d ' \n' <"$work/samples" |
  sed 's/.*"tokens":\[\([0-9,]*\)\],"labels":\[[0-9,]*,\([0-9]*\)\].*/{"input_ids":[[\1,\2]]}/' >"$work/tokens.json"
logits "$work/first.safetensors" --hf $llama
losses "$(run_folder one)/metrics.jsonl" | awk -v wanted="$(number "$work/first.safetensors" loss)" '
  { d = $2 / wanted - 1; if (d < 0) d = -d; if (!(d <= 1e-6)) { print $2 " instead of " wanted; bad = 1 } }
  END { exit bad || NR != 1 }' || die "the first loss is not that of the weights"

# The option does what the key does, from the folder where it is typed. A resume reads the run's own checkpoint.
(cd $models && "$primus" train pretrain --config "$work/llama_bias_llama3.yaml" exp_name=option init_from=None \
  --init-from llama_bias_llama3 >"$work/log" 2>&1)
expect 0 $? "--init-from"
same_losses llama_bias_llama3 option "--init-from and the key"
cp -r $llama "$work/moved"
run llama_bias_llama3 resumed train_iters=4 exit_interval=2 --init-from "$work/moved"
expect 0 $? "the first half"
rm -rf "$work/moved"
run llama_bias_llama3 resumed train_iters=4 --init-from "$work/moved" --resume must
expect 0 $? "the second half, without the folder"
has "$work/log" "is not read: the run goes on from its own checkpoint"
run llama_bias_llama3 whole train_iters=4
expect 0 $? "in one part"
same_losses whole resumed "in one part and in two"

# A smaller vocabulary of the experiment leaves the model as it is.
run llama_bias_llama3 small vocab_size=60
expect 0 $? "a smaller vocabulary"
logits "$work/run.safetensors" --run "$(run_folder small)"
logits "$work/export.safetensors" --hf "$(run_folder small)/hf/step_2"
same_logits "$work/run.safetensors" "$work/export.safetensors" "a smaller vocabulary: the export is another model"

"$primus" checkpoint export-hf "$(run_folder small)" --output "$work/exported" >"$work/log" 2>&1
expect 0 $? "checkpoint export-hf of a smaller vocabulary"
cmp "$work/exported/model.safetensors" "$(run_folder small)/hf/step_2/model.safetensors" ||
  die "export_every and checkpoint export-hf write different weights"

# Fresh weights of an experiment.
logits "$work/fresh.safetensors" --config "$work/llama_bias_llama3.yaml"
logits "$work/again.safetensors" --config "$work/llama_bias_llama3.yaml"
cmp "$work/fresh.safetensors" "$work/again.safetensors" || die "fresh weights are not a function of the seed"

# Refused before anything is started.
refused() {
  local words=$1
  shift
  run llama_bias_llama3 refused "$@"
  expect 2 $? "refused: $*"
  has "$work/log" "$words"
  missing "$(run_folder refused)"
}
refused "64 here, .* in the folder" ffn_hidden_size=64
refused "more token ids than the folder's model has rows" vocab_size=120 padded_vocab_size=121
refused "no such folder" --init-from "$work/nowhere"
refused "both from a Hugging Face folder and from a checkpoint" "load=$work"
refused "cannot be exported" init_from=None logit_multiplier=0.5

# An export that fails (a full disk) costs no training: the rest goes on, and the exit code says that something is missing.
PRIMUS_FAULT=1:enospc:/hf run llama_bias_llama3 full
expect 1 $? "exports on a full disk"
has "$work/log" "the export of step 1 to .* failed, training goes on without it"
has "$work/log" "2 of 2 exports failed"
[ "$(last_step "$(run_folder full)/metrics.jsonl")" = 2 ] || die "a failed export stopped the run"
checkpoints_are_sound full
missing "$(run_folder full)"/hf/step_1 "$(run_folder full)"/hf/step_2
[ -z "$(ls -A "$(run_folder full)/hf" 2>/dev/null)" ] || die "a failed export left something behind"
