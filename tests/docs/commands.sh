#!/usr/bin/env bash
# Runs every command that README.md and docs/ print in a ```sh block, in a copy of the repository's look: the same folders, but
# ./primus-cli is the program under test. Training is cut to a few steps unless PRIMUS_TEST_FULL=1.
#   ```sh          each line is run and must end with 0, or with N where it says "# exit code N"
#   ```sh no-run   is allowed only for the commands listed below, each with its reason
# shellcheck source=tests/e2e/lib_train.sh
. "$(dirname "$0")/../e2e/lib_train.sh"
unset OMP_NUM_THREADS PRIMUS_WORKSPACE

declare -A not_run=(
  ['./tools/test']='runs this test'
  ['./tools/test full']='runs this test'
  ['./tools/test e2e']='runs this test'
  ['.ci/run']='runs this test'
  ['bench/run']='measures for many minutes; .ci does not'
  ['git clone']='needs a network and another place'
  ['torchrun --no-python']='needs PyTorch'
  ['srun ']='needs Slurm'
  ['mpirun ']='needs Open MPI'
)

# The folder that the commands run in. data is a real folder, since prepared files go there.
copy=$work/repository
mkdir -p "$copy/data"
for entry in "$source_root"/*; do
  case ${entry##*/} in build* | output | data | primus-cli) ;; *) ln -s "$entry" "$copy/" ;; esac
done
for file in "$source_root"/data/*; do [ -d "$file" ] || ln -s "$file" "$copy/data/"; done
short='--train_iters 4 --lr_warmup_iters 1 --eval_iters 1 --eval_interval 2 --save_interval 2'
[ -z "${PRIMUS_TEST_FULL:-}" ] || short=
cat >"$copy/primus-cli" <<STUB
#!/bin/sh
case " \$* " in
  *' --help '*) ;;
  *' train pretrain '*) exec "$PRIMUS_BIN/primus" "\$@" $short ;;
esac
exec "$PRIMUS_BIN/primus" "\$@"
STUB
chmod +x "$copy/primus-cli"
cd "$copy" || exit 1

# file:line<TAB>run|no-run<TAB>command, with continued lines joined.
commands() {
  awk '
    function flush() { if (command != "") print FILENAME ":" line "\t" kind "\t" command; command = "" }
    /^```/ && inside { flush(); inside = 0; next }
    /^```sh/ { inside = 1; kind = $2 == "" ? "run" : $2; next }
    /^```/ { inside = 2; next }
    inside == 1 {
      if ($0 ~ /^[ \t]*(#.*)?$/) next
      if (command == "") line = FNR
      text = $0
      continued = sub(/\\$/, "", text)
      command = command text
      if (!continued) flush()
    }' "$@"
}

mapfile -t pages < <(cd "$source_root" && find README.md docs -name '*.md' | sort)
count=0
while IFS=$'\t' read -r place kind command; do
  case $kind in
    run) ;;
    no-run)
      reason=
      for start in "${!not_run[@]}"; do [[ $command == "$start"* ]] && reason=${not_run[$start]}; done
      [ -n "$reason" ] || { echo "$place: no reason is listed for not running: $command"; exit 1; }
      continue
      ;;
    *) echo "$place: a \`\`\`sh block marked '$kind'"; exit 1 ;;
  esac
  wanted=0
  [[ $command =~ '# exit code '([0-9]+) ]] && wanted=${BASH_REMATCH[1]}
  bash -c "$command" >"$work/log" 2>&1 </dev/null
  code=$?
  [ $code = "$wanted" ] || die "$place: exit code $code instead of $wanted: $command"
  echo "ok $place: $command"
  count=$((count + 1))
done < <(commands "${pages[@]}")
[ $count -ge 5 ] || { echo "only $count commands were found"; exit 1; }
