# Finds libtorch without its own CMake package (which enables the CUDA language). -DTORCH_ROOT=<folder with include/, lib/>;
# only libtorch_cpu and libc10 are linked, GPU libraries are loaded when a GPU is asked for.
find_path(TORCH_INCLUDE_DIR torch/csrc/api/include/torch/torch.h HINTS ${TORCH_ROOT} PATH_SUFFIXES include NO_DEFAULT_PATH)
get_filename_component(_root "${TORCH_INCLUDE_DIR}" DIRECTORY)
foreach(_l c10 torch_cpu)
  find_library(TORCH_${_l}_LIBRARY ${_l} HINTS ${_root}/lib NO_DEFAULT_PATH)
endforeach()
find_file(TORCH_GOMP_LIBRARY libgomp.so.1 HINTS ${_root}/lib NO_DEFAULT_PATH)
if(TORCH_INCLUDE_DIR)
  foreach(_header torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
    if(EXISTS ${TORCH_INCLUDE_DIR}/${_header} AND NOT _v)
      file(STRINGS ${TORCH_INCLUDE_DIR}/${_header} _v REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
    endif()
  endforeach()
  string(REGEX REPLACE "[^0-9;]+" "" _v "${_v}")
  string(REPLACE ";" "." TorchLite_VERSION "${_v}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(TorchLite REQUIRED_VARS TORCH_INCLUDE_DIR TORCH_c10_LIBRARY TORCH_torch_cpu_LIBRARY
                                  VERSION_VAR TorchLite_VERSION)
if(TorchLite_FOUND AND NOT TARGET Torch::cpu)
  add_library(Torch::c10 SHARED IMPORTED)
  set_target_properties(Torch::c10 PROPERTIES IMPORTED_LOCATION ${TORCH_c10_LIBRARY})
  add_library(Torch::cpu SHARED IMPORTED)
  # third_party/gloo_stub: the wheel lacks gloo's headers; only pointers to its types are held, the code is in the library.
  set(_inc "${PROJECT_SOURCE_DIR}/src/third_party/gloo_stub;${TORCH_INCLUDE_DIR};${TORCH_INCLUDE_DIR}/torch/csrc/api/include")
  set_target_properties(Torch::cpu PROPERTIES IMPORTED_LOCATION ${TORCH_torch_cpu_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES "${_inc}" INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${_inc}"
    INTERFACE_COMPILE_DEFINITIONS "USE_DISTRIBUTED;USE_C10D_GLOO"
    INTERFACE_LINK_LIBRARIES Torch::c10 INTERFACE_LINK_OPTIONS "LINKER:--allow-shlib-undefined")
endif()
