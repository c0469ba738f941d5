// The machine's arithmetic peak, measured: the denominator of every speed claim.
#pragma once

#include <optional>

namespace primus::kernels {

enum class ProbeType { Float32, BFloat16 };

// GFLOP/s (1e9; one multiply-add = 2) of a register-only multiply-add loop on `num_threads` threads of libtorch's team
// at once, in the widest form that the CPU has: AVX-512, AVX2, or portable for fp32; vdpbf16ps for bf16. Nothing when
// the CPU has no bf16 dot product. The best of a few rounds of about `round_ms` each. num_threads <= 0: the whole team.
std::optional<double> measure_peak(ProbeType type, int num_threads = 0, double round_ms = 4.0);

}  // namespace primus::kernels
