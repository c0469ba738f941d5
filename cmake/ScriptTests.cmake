# Tests that are programs of their own: tests/<kind>/*.sh, one ctest entry each. They get the build's bin folder.
foreach(kind e2e docs)
  file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${kind}/*.sh)
  foreach(script ${scripts})
    get_filename_component(name ${script} NAME_WE)
    if(name MATCHES "^lib")
      continue()
    endif()
    add_test(NAME ${kind}.${name} COMMAND bash ${script} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${kind}.${name} PROPERTIES LABELS ${kind} TIMEOUT ${PRIMUS_TEST_TIMEOUT}
      ENVIRONMENT "PRIMUS_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};PRIMUS_SOURCE=${PROJECT_SOURCE_DIR}")
    if(NOT name MATCHES "^launch_")  # those start stubs; all others train
      set_tests_properties(${kind}.${name} PROPERTIES PROCESSORS 2)
    endif()
  endforeach()
endforeach()
