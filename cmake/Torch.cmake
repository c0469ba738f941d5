# libtorch, the one precompiled header of all torch targets, and the BLAS switch.
if(NOT TORCH_ROOT)
  message(FATAL_ERROR "no libtorch: pass -DTORCH_ROOT=<folder with include/ and lib/> (environment: PRIMUS_TORCH_DIR), "
                      "let tools/bootstrap fetch it, or configure with -DPRIMUS_TORCH=OFF")
endif()
find_package(TorchLite 2.9 REQUIRED)
message(STATUS "libtorch ${TorchLite_VERSION} in ${TORCH_ROOT}")

# The wheel ships headers of another fmt than the one we link: ours must be found first.
get_target_property(_fmt_include fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/fmt_first)
file(CREATE_LINK ${_fmt_include}/fmt ${PROJECT_BINARY_DIR}/fmt_first/fmt SYMBOLIC)

add_library(primus_prelude OBJECT src/primus/tensor/prelude/prelude.cpp)
target_link_libraries(primus_prelude PUBLIC primus_options Torch::cpu)
target_include_directories(primus_prelude PUBLIC ${PROJECT_BINARY_DIR}/fmt_first ${PROJECT_SOURCE_DIR}/src)
target_precompile_headers(primus_prelude PUBLIC ${PROJECT_SOURCE_DIR}/src/primus/tensor/prelude.h)
# Linked into executables, never into libraries: the symbol must be found in the program itself.
add_library(primus_mkl_switch OBJECT src/primus/kernels/mkl_switch.c)
if(PRIMUS_MKL_SWITCH)
  target_compile_definitions(primus_mkl_switch PRIVATE PRIMUS_MKL_SWITCH=1)
  target_link_options(primus_mkl_switch INTERFACE LINKER:--export-dynamic-symbol=mkl_serv_intel_cpu_true)
endif()
target_sources(primus_mkl_switch INTERFACE $<TARGET_OBJECTS:primus_mkl_switch>)
