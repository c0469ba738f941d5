// Internal, included by sources whose results must have the same bits on every machine: forbids the compiler to fuse
// a*b+c into one rounding, from here to the end of the including source. Clang obeys the standard pragma, g++ only its
// own.
#pragma once

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("fp-contract=off")
#endif
