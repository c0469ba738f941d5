// torch's BLAS (MKL, linked statically) takes an AVX2 code path on CPUs that are not Intel's even where they have
// AVX-512: matrix products then run at less than half of the machine's speed. MKL asks this function, and a symbol of
// the main program wins. Undocumented: if a later build drops the name, nothing happens; correctness never depends on
// it. Results differ from the other path in the last bits, so the run record names it. Off: -DPRIMUS_MKL_SWITCH=OFF.
#ifdef PRIMUS_MKL_SWITCH
__attribute__((visibility("default"))) int mkl_serv_intel_cpu_true(void) {
  return 1;
}
#else
typedef int primus_mkl_switch_is_off;
#endif
