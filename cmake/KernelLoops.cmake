# Flags of the sources that are compiled once per instruction set (src/primus/kernels/loops.h). They see no libtorch, hence
# no precompiled header. Products and sums are fused only where the source says so: the same bits from every compiler.
set(_kernels ${PROJECT_SOURCE_DIR}/src/primus/kernels)
set(_flags -ffp-contract=off -fno-math-errno)
set(_avx512)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  set(_avx512 -mavx2 -mfma -mavx512f -mavx512bw -mavx512vl -mavx512dq)
endif()
# Plain references see none of the fast code, and code for one instruction set stays in files of its own.
file(GLOB _alone ${_kernels}/*_ref.cpp ${_kernels}/*_avx512.cpp)
set_source_files_properties(${_alone} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
set_source_files_properties(${_kernels}/loops_portable.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "${_flags}")
set_source_files_properties(${_kernels}/loops_avx512.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON
                            COMPILE_OPTIONS "${_flags};${_avx512}")
