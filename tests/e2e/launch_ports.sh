#!/usr/bin/env bash
# B030. Two jobs at once never meet on one port; a port that is taken is a clear error; a given one is used.
# shellcheck source=tests/e2e/lib_launch.sh
. "$(dirname "$0")/lib_launch.sh"

stub 'echo "$MASTER_PORT" >"$WORK/port-$JOB"; while [ ! -e "$WORK/go" ]; do sleep 0.02; done'
jobs_started=
for job in 1 2 3; do
  JOB=$job PRIMUS_EXP_NAME=job-$job "$primus" train pretrain --config "$experiment" --nproc 1 >/dev/null 2>"$work/err-$job" &
  jobs_started="$jobs_started $!"
done
for job in 1 2 3; do wait_for "$work/port-$job"; done
[ "$(cat "$work"/port-* | sort -u | wc -l)" = 3 ] || die "ports: $(cat "$work"/port-*)"

# The port of a running job is refused, although no rank listens on it here.
taken=$(cat "$work/port-1")
MASTER_PORT=$taken train --nproc 1; expect 2 $? "a port that a job holds"
has "$work/err" "port $taken cannot be used"
touch "$work/go"
for pid in $jobs_started; do wait "$pid" || die "a job failed"; done

stub 'echo "$MASTER_PORT"'
MASTER_PORT=$taken train --nproc 1 || die "the port is free again"
has "$work/out" "^$taken\$"

# A listener of another program.
python3 - "$work/listening" <<'END' &
import socket, sys, time
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("127.0.0.1", 0)); s.listen()
open(sys.argv[1] + ".part", "w").write(str(s.getsockname()[1]))
import os; os.rename(sys.argv[1] + ".part", sys.argv[1])
time.sleep(60)
END
listener=$!
wait_for "$work/listening"
MASTER_PORT=$(cat "$work/listening") train --nproc 1; code=$?
kill $listener
expect 2 $code "a port that another program listens on"
has "$work/err" "another program listens on it"

# Two nodes that are told nothing about a port arrive at the same one.
stub 'echo "$RANK $WORLD_SIZE $MASTER_ADDR $MASTER_PORT"'
export NNODES=2 MASTER_ADDR=localhost GPUS_PER_NODE=2
NODE_RANK=0 train || die "node 0"
has "$work/out" "^0 4 localhost 1234\$"
NODE_RANK=1 train || die "node 1"
has "$run_folder/logs/rank-3.log" "^3 4 localhost 1234\$"
