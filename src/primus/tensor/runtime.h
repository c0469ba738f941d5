// Process-wide set-up of libtorch: allocator, threads, versions, and what the CPU offers.
#pragma once

#include <string>

namespace primus::tensor {

// What the run-time dispatch of our kernels asks for; false everywhere on CPUs other than x86-64.
struct CpuFeatures {
  std::string model;         // "AMD EPYC 9575F" as the kernel names it; part of cache keys, never of decisions
  bool avx2_fma = false;     // AVX2 and FMA
  bool avx512 = false;       // AVX-512 F, BW, VL, DQ, with operating-system support
  bool avx512_bf16 = false;  // vdpbf16ps on top of avx512

  // "avx2 avx512 avx512_bf16", or "none".
  std::string to_string() const;
};
const CpuFeatures& cpu_features();

// Makes glibc keep freed memory instead of giving every large tensor back to the kernel (page faults otherwise cost
// 12-20 % of a training step), and libtorch ask for huge pages (3-5 %) unless THP_MEM_ALLOC_ENABLE is set already. Call
// first thing in main, before any other thread or tensor exists; later calls change nothing. Does nothing on other C
// libraries and kernels.
void configure_allocator();

// The team size of libtorch's operators and of our own kernels (tensor/parallel.h). At least 1.
void set_num_threads(int num_threads);
int num_threads();

// One line for headers, run records and --version, e.g. "torch 2.15.0, MKL 2024.2, oneDNN 3.13.3, mkl_switch on".
std::string versions();
// True when this executable carries the BLAS switch (kernels/mkl_switch.c).
bool mkl_switch_is_on();

}  // namespace primus::tensor
