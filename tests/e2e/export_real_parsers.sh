#!/bin/bash
# What config export writes, given to the real parsers of upstream. PRIMUS_PEERS: a Python with megatron-core 0.19,
# torchtitan 0.2.2 or maxtext 0.2.5 (on PYTHONPATH); without one the test says that it is skipped.
if [ -z "${PRIMUS_PEERS:-}" ]; then
  echo "SKIPPED: PRIMUS_PEERS names no Python that holds upstream's packages"
  exit 0
fi
cd "$PRIMUS_SOURCE" || exit 1
PRIMUS=$PRIMUS_BIN/primus exec "$PRIMUS_PEERS" tests/optional/export_real_parsers.py
