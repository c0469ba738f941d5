#!/usr/bin/env bash
# Mistakes: one clear message with place, found, expected and a way out; exit code 2 before any work; nothing half-written.
# shellcheck source=tests/e2e/lib_train.sh
. "$(dirname "$0")/lib_train.sh"
length=(train_iters=4 save_interval=2)

# refused WHAT 'pattern' ... -- [arguments of train]: exit code 2, every pattern in the message, no run folder.
refused() {
  local what=$1 patterns=()
  shift
  while [ "$1" != -- ]; do
    patterns+=("$1")
    shift
  done
  shift
  train refused "${length[@]}" "$@"
  expect 2 $? "$what"
  said "$what" "${patterns[@]}"
  missing "$(run_folder refused)/metrics.jsonl" "$(run_folder refused)/checkpoints"
  rm -rf "$(run_folder refused)"
}

# said WHAT 'pattern' ...: short, and no sign of a crash.
said() {
  local what=$1
  shift
  for pattern in "$@"; do grep -q -- "$pattern" "$work/log" || die "$what: the message lacks '$pattern'"; done
  ! grep -qi 'terminate called\|this is a bug\|assert\|Segmentation\|std::\|what():' "$work/log" || die "$what: a crash, not a message"
  [ "$(grep -c . "$work/log")" -lt 40 ] || die "$what: too much text"
}

# --- the experiment
refused "an unknown key" "'hiden_size'" hidden_size -- hiden_size=64
refused "a wrong type" train_iters "'many'" integer -- train_iters=many
refused "several at once" hiden_size "'many'" -- hiden_size=64 train_iters=many
refused "a batch that does not divide" global_batch_size '8' '12' -- micro_batch_size=4 global_batch_size=10
refused "a sequence longer than the positions" seq_length 128 -- seq_length=256
refused "heads that do not share the width" num_attention_heads -- num_attention_heads=3

experiment_file() { sed "$1" "$experiment" >"$work/experiment.yaml"; }
# refused_file WHAT 'pattern' ...: $work/experiment.yaml
refused_file() {
  local what=$1
  shift
  "$primus" train pretrain --config "$work/experiment.yaml" >"$work/log" 2>&1
  expect 2 $? "$what"
  said "$what" "$@"
  missing "$work/output"
}
experiment_file 's/^      lr: .*/      lr: [1, 2/'
refused_file "bad YAML" 'experiment.yaml:[0-9]*:[0-9]*: error'
experiment_file 's/model: shakespeare_char.yaml/model: shakespere_char.yaml/'
refused_file "a missing preset" "shakespere_char.yaml" "shakespeare_char"
experiment_file 's/^      log_interval: 50/      log_interval: 50\n      log_interval: 60/'
refused_file "a key given twice" "log_interval" 'experiment.yaml:[0-9]*'
"$primus" train pretrain --config "$work/nowhere.yaml" >"$work/log" 2>&1
expect 2 $? "no such experiment"
said "no such experiment" nowhere.yaml

# --- data
printf 'To be, or not to be.\n' >"$work/short.txt"
printf '' >"$work/empty.txt"
refused "missing data" "$work/none/train" -- "train_data_path=$work/none/train" prepare_data=None
refused "a missing text" nothing.txt -- "train_data_path=$work/none/train" "prepare_data.input=$work/nothing.txt"
missing "$work/none/train.bin" "$work/none/train.idx"
refused "an empty text" empty -- "train_data_path=$work/none/train" "prepare_data.input=$work/empty.txt"
refused "less than one sample" "$work/none/train" '32' -- "train_data_path=$work/none/train" "valid_data_path=$work/none/valid" \
  "prepare_data.input=$work/short.txt"
rm -rf "$work/none"

train good "${length[@]}"
expect 0 $? "the good run"
good=$(run_folder good)
# An index that is not one, one that is cut, and ids that the model does not have.
mkdir "$work/bad"
cp "$work/data/train.bin" "$work/data/train.idx" "$work/bad"
printf 'NOTANIDX' | dd of="$work/bad/train.idx" conv=notrunc status=none
refused "a corrupt index" 'bad/train.idx' -- "train_data_path=$work/bad/train" prepare_data=None
head -c 40 "$work/data/train.idx" >"$work/bad/train.idx"
refused "a truncated index" 'bad/train.idx' -- "train_data_path=$work/bad/train" prepare_data=None
cp "$work/data/train.idx" "$work/bad"
head -c 1000 "$work/data/train.bin" >"$work/bad/train.bin"
refused "tokens that are missing" 'bad/train' -- "train_data_path=$work/bad/train" prepare_data=None
cp "$work/data/train.bin" "$work/bad"
printf '\372\372' | dd of="$work/bad/train.bin" conv=notrunc status=none
refused "ids beyond the vocabulary" 'bad/train' vocabulary -- "train_data_path=$work/bad/train" prepare_data=None
refused "a tokenizer larger than the vocabulary" vocab_size 65 40 -- vocab_size=40
refused "a missing tokenizer" nowhere.json -- tokenizer_model=nowhere.json

# --- the workspace (root may write everywhere, so it is a file that stands in the way)
: >"$work/file"
"$primus" train pretrain --config "$experiment" "${tiny[@]}" "${length[@]}" "workspace=$work/file" >"$work/log" 2>&1
expect 2 $? "a workspace that cannot be made"
said "a workspace that cannot be made" "$work/file" workspace

# --- checkpoints: a damaged newest one ends the start, and never becomes a random start
latest=$good/checkpoints/step_4
shards=$latest/optimizer-00000.safetensors
[ -e "$shards" ] || die "where are the shards?"
before=$(losses "$good/metrics.jsonl" | cksum)
# damaged WHAT CODE 'pattern' ...: continues the good run, longer.
damaged() {
  local what=$1 code=$2
  shift 2
  train good train_iters=6 save_interval=2
  local got=$?
  [ "$got" = "$code" ] || die "$what: exit code $got instead of $code"
  said "$what" "$@"
  [ "$(losses "$good/metrics.jsonl" | cksum)" = "$before" ] || die "$what: the metrics have changed"
  cp "$work/shards" "$shards"
}
cp "$shards" "$work/shards"
printf '\377\377\377\377\377\377\377\177' | dd of="$shards" conv=notrunc status=none
damaged "a header longer than the file" 2 'optimizer-00000.safetensors'
printf '{"a":{"dtype":"F32","shape":[9223372036854775807,4],"data_offsets":[0,8]},' | dd of="$shards" bs=1 seek=8 conv=notrunc status=none
damaged "a shape that overflows" 2 'optimizer-00000.safetensors'
printf '{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},' |
  dd of="$shards" bs=1 seek=8 conv=notrunc status=none
damaged "a name that comes twice" 2 'optimizer-00000.safetensors'
size=$(stat -c %s "$shards")
printf '\125' | dd of="$shards" bs=1 seek=$((size - 100)) conv=notrunc status=none
damaged "a byte that has changed" 2 'optimizer-00000.safetensors'

# Truncated: it is not complete, so the one before it is taken, and that is said.
truncate -s $((size / 2)) "$shards"
train good train_iters=6 save_interval=2
expect 0 $? "a truncated checkpoint"
said "a truncated checkpoint" 'resuming from step 2'
train straight train_iters=6 save_interval=2
same_losses straight good "after a truncated checkpoint"

# A checkpoint of another model, by load and by --resume.
refused "a checkpoint of another model" hidden_size -- hidden_size=32 "load=$good/checkpoints"
refused "a checkpoint that is not there" "$work/nowhere" -- "load=$work/nowhere"
train good train_iters=8 hidden_size=32 --resume auto
expect 2 $? "--resume with another model"
said "--resume with another model" hidden_size
train good train_iters=6 save_interval=2
expect 0 $? "the good run after the refusals"

# --- the machine
MASTER_PORT=80 train refused "${length[@]}"
expect 2 $? "a port that is not allowed"
said "a port that is not allowed" MASTER_PORT
