#!/usr/bin/env bash
# B034. A rank that fails ends the job: its exit code, its report first, nobody left over.
# shellcheck source=tests/e2e/lib_launch.sh
. "$(dirname "$0")/lib_launch.sh"

stub 'if [ "$RANK" = 1 ]; then echo "the real reason" >&2; exit 7; fi
echo "rank 0 was here"; exec sleep 300 </dev/null'
train --nproc 2; code=$?
expect 7 $code "a rank that exits 7"
has "$work/out" "rank 0 was here"
has "$work/err" "rank 1 failed first: exit code 7"
has "$work/err" "\[rank 1\] the real reason"
has "$run_folder/logs/rank-1.log" "the real reason"
has "$run_folder/logs/rank-0.log" "rank 0 was here"
has "$run_folder/logs/launcher.log" "rank 1 failed first"
first=$(grep -n "failed first" "$work/err" | cut -d: -f1)
other=$(grep -n "rank 0: signal 15" "$work/err" | cut -d: -f1)
[ "$first" -lt "$other" ] || die "the first error is not the first"
nobody_left

stub 'kill -SEGV $$'
train --nproc 1; code=$?
expect 139 $code "a rank that ends by SIGSEGV"
has "$work/err" "SIGSEGV"

# The peer speaks first here, but only of a lost connection.
stub 'if [ "$RANK" = 0 ]; then echo "error: all_reduce: Connection closed by peer" >&2; exit 1; fi
sleep 0.05; echo "out of memory in layer 3" >&2; exit 5'
train --nproc 2; code=$?
expect 5 $code "the victim spoke first"
has "$work/err" "rank 1 failed first"

stub 'trap "" TERM; if [ "$RANK" = 1 ]; then sleep 0.2; exit 3; fi; while :; do sleep 0.1; done'
PRIMUS_GRACE_SECONDS=0.5 train --nproc 2; code=$?
expect 3 $code "a rank that ignores SIGTERM"
has "$work/err" "did not end within 0.5 s"
nobody_left

rm "$work/stub"
train --nproc 1; code=$?
expect 3 $code "a program that is not there"
has "$work/err" "cannot start"
