#!/usr/bin/env bash
# TensorBoard event files when asked for: a chain of records that ends with the file, with the tags that dashboards know.
# shellcheck source=tests/e2e/lib_train.sh
. "$(dirname "$0")/lib_train.sh"
run=$(run_folder board)
train plain train_iters=3 save=None
expect 0 $? "a run without"
missing "$(run_folder plain)/tensorboard"
train board train_iters=3 save=None eval_interval=3 disable_tensorboard=false
expect 0 $? "a run with disable_tensorboard: false"

files=("$run"/tensorboard/events.out.tfevents.*)
[ ${#files[@]} = 1 ] && [ -s "${files[0]}" ] || die "not one event file"
# A record: length (8 bytes, little endian), checksum (4), the event, checksum (4).
size=$(stat -c %s "${files[0]}")
at=0 records=0
while [ $at -lt "$size" ]; do
  length=$(od -A n -t u8 -j $at -N 8 "${files[0]}" | tr -d ' ')
  at=$((at + 8 + 4 + length + 4))
  records=$((records + 1))
done
[ $at = "$size" ] || die "the records end at $at, the file at $size"
[ $records -ge 10 ] || die "only $records records"
strings -n 4 "${files[0]}" >"$work/log"
has "$work/log" 'brain.Event:2'
has "$work/log" 'lm loss'
has "$work/log" 'lm loss validation'
has "$work/log" 'learning-rate'
has "$work/log" 'grad-norm'
