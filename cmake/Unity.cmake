# PRIMUS_UNITY: sources of one family (the word before the first "_" of the file name; tables are families of their own) are
# compiled as one translation unit, sources without a family in groups of PRIMUS_UNITY_REST. A build from nothing takes half
# the time, a build after a change of one file somewhat longer; hence off by default. Names in anonymous namespaces
# must differ within a room.
option(PRIMUS_UNITY "compile the sources of a family as one" OFF)
set(PRIMUS_UNITY_REST 8)
# Compiled alone: private names of these repeat those of their neighbours.
set(PRIMUS_UNITY_ALONE "src/primus/hub/hf_|unit/hub/hf_|src/primus/cli/checkpoint_")

function(primus_unity target)
  if(NOT PRIMUS_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(families)
  list(FILTER sources EXCLUDE REGEX "${PRIMUS_UNITY_ALONE}")
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    string(REGEX REPLACE "_test$" "" name ${name})
    string(REGEX MATCH "^[a-z0-9]+(_table)?" family ${name})
    list(APPEND families ${family})
    list(APPEND of_${family} ${source})
  endforeach()
  list(REMOVE_DUPLICATES families)
  set(count 0)
  foreach(family ${families})
    list(LENGTH of_${family} members)
    set(group ${family})
    if(members LESS 3)
      math(EXPR group "${count} / ${PRIMUS_UNITY_REST}")
      math(EXPR count "${count} + ${members}")
    endif()
    set_source_files_properties(${of_${family}} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # A class of a .cpp looks to g++ as if it stood in a header.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()
