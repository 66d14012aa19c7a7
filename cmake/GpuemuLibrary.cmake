# gpuemu_library(NAME [HOT] SOURCES.. HEADERS.. DEPS.. EXTERNAL.. TESTS.. TEST_DEPS.. OPTIONS..)
# One folder, one static library. DEPS is the whole permission list: a folder that is not named here
# may not be included (tools/tidy.py checks) and cannot be linked. EXTERNAL names third-party targets
# that stay inside this folder; TEST_DEPS are folders that only the tests use. HOT: loops over every
# element or instruction live here, and a release build optimises them most.
function(gpuemu_library name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "HOT" "" "SOURCES;HEADERS;DEPS;EXTERNAL;TESTS;TEST_DEPS;OPTIONS")
  add_library(${name} STATIC)
  add_library(gpuemu::${name} ALIAS ${name})
  target_sources(${name} PRIVATE ${ARG_SOURCES}
    PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${ARG_HEADERS})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} ${ARG_EXTERNAL} PRIVATE gpuemu::warnings)
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  if(ARG_HOT)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O3>)
  endif()
  set_target_properties(${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  gpuemu_shareable(${name})
  if(ARG_TESTS AND GPUEMU_TESTS)
    add_executable(${name}_test ${ARG_TESTS})
    target_link_libraries(${name}_test PRIVATE ${name} ${ARG_TEST_DEPS} GTest::gtest_main gpuemu::warnings)
    target_compile_definitions(${name}_test PRIVATE GPUEMU_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    # Compiling most of them takes longer than running them.
    target_compile_options(${name}_test PRIVATE $<$<CONFIG:Release>:-O1>)
    gtest_discover_tests(${name}_test DISCOVERY_MODE PRE_TEST PROPERTIES LABELS unit TIMEOUT 120)
  endif()
endfunction()

# The installed shared library is made of the folders' objects, so their code must not care where it
# is loaded; with nothing exported by default the compiler still calls and reads its own directly.
function(gpuemu_shareable name)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()
