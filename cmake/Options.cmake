# Flags that every target shares, and the sanitizer switch of the presets.
set(PRIMUS_SANITIZE "" CACHE STRING "address,undefined or thread")
add_library(primus_options INTERFACE)
target_compile_options(primus_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Werror -Wno-unknown-pragmas -Wno-psabi
    -Wno-missing-field-initializers>  # designated initializers leave the in-class defaults on purpose
  # g++ 12 sees overlaps, overflows and uninitialised reads inside inlined std::string and intrinsics that are not there (PR
  # 105651, 105329, 105593); clang builds the same sources with these checks on.
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds -Wno-maybe-uninitialized
    -Wno-uninitialized>
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-missing-designated-field-initializers>)
if(PRIMUS_SANITIZE)
  add_compile_options(-fsanitize=${PRIMUS_SANITIZE} -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${PRIMUS_SANITIZE})
  if(PRIMUS_SANITIZE MATCHES undefined)
    add_compile_options(-fno-sanitize-recover=undefined)  # a finding is printed and ends the test
  endif()
  if(PRIMUS_SANITIZE MATCHES thread)  # fences, which it does not see, stand in inline functions of libtorch
    add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-tsan>)
  endif()
endif()
option(PRIMUS_LIBFUZZER "fuzz targets driven by libFuzzer (clang, with PRIMUS_SANITIZE)" OFF)
if(PRIMUS_LIBFUZZER)
  add_compile_options(-fsanitize=fuzzer-no-link)  # the libraries count what an input reaches; without it inputs are blind
  add_link_options(-fsanitize=fuzzer-no-link)
endif()
if(PRIMUS_COVERAGE)
  add_compile_options(--coverage -fprofile-update=atomic -g1)
  add_link_options(--coverage)
endif()
