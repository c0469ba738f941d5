# Where torch is when -DTORCH_ROOT does not say it: PRIMUS_TORCH_DIR (the torch folder itself, or the folder above it), else
# where tools/bootstrap puts it.
set(_cache "$ENV{XDG_CACHE_HOME}")
if(NOT _cache)
  set(_cache "$ENV{HOME}/.cache")
endif()
set(PRIMUS_DEFAULT_TORCH_ROOT "")
foreach(_candidate "$ENV{PRIMUS_TORCH_DIR}" "$ENV{PRIMUS_TORCH_DIR}/torch" "${_cache}/primus/torch-2.15.0/torch")
  if(NOT PRIMUS_DEFAULT_TORCH_ROOT AND EXISTS "${_candidate}/lib/libtorch_cpu.so")
    set(PRIMUS_DEFAULT_TORCH_ROOT "${_candidate}")
  endif()
endforeach()
