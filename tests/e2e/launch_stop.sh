#!/usr/bin/env bash
# Stopping: ranks may save, the exit code tells the signal, and nobody outlives a launcher that is killed.
# shellcheck source=tests/e2e/lib_launch.sh
. "$(dirname "$0")/lib_launch.sh"

stub 'trap "echo saved >$WORK/saved-$RANK; exit 0" TERM; : >"$WORK/ready-$RANK"; while :; do sleep 0.05; done'
for signal in TERM INT HUP; do
  rm -f "$work"/ready-* "$work"/saved-*
  # A shell starts background jobs with SIGINT ignored; the launcher must not inherit that here.
  python3 -c 'import os,signal,sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])' \
    "$primus" train pretrain --config "$experiment" --nproc 2 >"$work/out" 2>"$work/err" &
  job=$!
  wait_for "$work/ready-0"
  wait_for "$work/ready-1"
  kill -"$signal" $job
  wait $job; code=$?
  expect $((128 + $(kill -l "$signal"))) $code "SIG$signal"
  [ -e "$work/saved-0" ] && [ -e "$work/saved-1" ] || die "SIG$signal: not all ranks could save"
  nobody_left
done

# SIGKILL of the launcher: the ranks, what they started, and the guard are gone.
stub 'trap "" TERM HUP; sleep 300 & : >"$WORK/ready-$RANK"; wait'
rm -f "$work"/ready-*
"$primus" train pretrain --config "$experiment" --nproc 2 >"$work/out" 2>"$work/err" &
job=$!
wait_for "$work/ready-0"
wait_for "$work/ready-1"
groups=$(ps -eo pgid=,args= | grep -F "$work/stub" | grep -v grep | awk '{print $1}' | sort -u)
[ "$(echo "$groups" | wc -l)" = 2 ] || die "two process groups were expected, not: $groups"
kill -KILL $job
wait $job 2>/dev/null
for _ in $(seq 500); do
  left=$(ps -eo pgid=,stat=,args= | awk -v groups="$groups" 'BEGIN { n = split(groups, g, /[ \n]+/); for (i = 1; i <= n; i++) wanted[g[i]] = 1 } ($1 in wanted) && $2 !~ /^Z/')
  [ -z "$left" ] && break
  sleep 0.02
done
[ -z "$left" ] || die "outlived the launcher: $left"
