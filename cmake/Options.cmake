# Flags that every target shares, and the sanitizer switch of the presets.
set(PRIMUS_SANITIZE "" CACHE STRING "address,undefined or thread")
add_library(primus_options INTERFACE)
target_compile_options(primus_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Werror -Wno-unknown-pragmas -Wno-psabi
    -Wno-missing-field-initializers>  # designated initializers leave the in-class defaults on purpose
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>  # g++ 12 sees overlaps in std::string::insert that are not there (PR 105651)
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-missing-designated-field-initializers>)
if(PRIMUS_SANITIZE)
  add_compile_options(-fsanitize=${PRIMUS_SANITIZE} -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${PRIMUS_SANITIZE})
endif()
if(PRIMUS_COVERAGE)
  add_compile_options(--coverage -fprofile-update=atomic -g1)
  add_link_options(--coverage)
endif()
