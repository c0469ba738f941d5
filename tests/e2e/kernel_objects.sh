#!/usr/bin/env bash
# The loops that are compiled for AVX-512 leave nothing behind but their table: any weak function in that object could be
# chosen by the linker for everybody, and would stop older CPUs.
set -u
library=${PRIMUS_BIN:?}/../libprimus_kernels.a
[ -f "$library" ] || { echo "no $library: built without torch"; exit 0; }
symbols=$(nm -C --defined-only "$library" 2>/dev/null | sed -n '/^loops_avx512\.cpp\.o:/,/^$/p') || exit 1
case $symbols in *kAvx512Loops*) ;; *) echo "loops_avx512.cpp.o: the table is missing"; exit 1 ;; esac
leaks=$(printf '%s\n' "$symbols" | grep -E ' [WVuTDBRC] ' | grep -E 'primus|std::' | grep -v 'primus::kernels::simd::kAvx512Loops$')
[ -z "$leaks" ] || { printf 'loops_avx512.cpp.o defines more than its table:\n%s\n' "$leaks"; exit 1; }
