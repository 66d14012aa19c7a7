# gpuemu_library(NAME [HOT] [UNITY|NO_UNITY] [TESTS_ALONE] SOURCES.. HEADERS.. DEPS.. EXTERNAL.. TESTS.. TEST_DEPS.. OPTIONS.. ALONE..)
# One folder, one static library. DEPS is the whole permission list: a folder that is not named here
# may not be included (tools/tidy.py checks) and cannot be linked. EXTERNAL names third-party targets
# that stay inside this folder; TEST_DEPS are folders that only the tests use. HOT: loops over every
# element or instruction live here, and a release build optimises them most. With GPUEMU_UNITY the sources of a folder are
# compiled together, but for those in ALONE, whose names clash with those of others; HOT folders only with UNITY, others not with
# NO_UNITY. So are its tests, but with TESTS_ALONE, where most files have helpers of the same names.
function(gpuemu_library name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "HOT;UNITY;NO_UNITY;TESTS_ALONE" "" "SOURCES;HEADERS;DEPS;EXTERNAL;TESTS;TEST_DEPS;OPTIONS;ALONE")
  if(NOT ARG_SOURCES)  # Headers alone.
    add_library(${name} INTERFACE)
    add_library(gpuemu::${name} ALIAS ${name})
    target_sources(${name} INTERFACE FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${ARG_HEADERS})
    target_link_libraries(${name} INTERFACE ${ARG_DEPS} ${ARG_EXTERNAL})
    return()
  endif()
  add_library(${name} STATIC)
  add_library(gpuemu::${name} ALIAS ${name})
  target_sources(${name} PRIVATE ${ARG_SOURCES}
    PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${ARG_HEADERS})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} ${ARG_EXTERNAL} PRIVATE gpuemu::warnings)
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  if(ARG_HOT)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O3>)
  endif()
  # It asks, waits and prints: -O1 compiles in four fifths of the time, and warns of what it does not follow.
  if(name MATCHES "^cli_")
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1> $<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:-Wno-maybe-uninitialized>)
  endif()
  if(NOT ARG_OPTIONS)
    set(kind cold)
    if(ARG_HOT)
      set(kind hot)
    endif()
    gpuemu_precompile(${name} ${kind})
  endif()
  set_target_properties(${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  gpuemu_shareable(${name})
  set_source_files_properties(${ARG_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  if(GPUEMU_UNITY AND (ARG_UNITY OR NOT (ARG_HOT OR ARG_NO_UNITY)))
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  endif()
  if(ARG_TESTS AND GPUEMU_TESTS)
    add_executable(${name}_test ${ARG_TESTS})
    target_link_libraries(${name}_test PRIVATE ${name} ${ARG_TEST_DEPS} GTest::gtest_main gpuemu::warnings)
    # Only where it is used: a compiler cache serves all checkouts with what does not name one.
    foreach(test IN LISTS ARG_TESTS)
      file(STRINGS ${test} uses REGEX GPUEMU_SOURCE_DIR)
      if(uses)
        set_source_files_properties(${test} PROPERTIES COMPILE_DEFINITIONS GPUEMU_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
      endif()
    endforeach()
    # Compiling most of them takes longer than running them.
    target_compile_options(${name}_test PRIVATE $<$<CONFIG:Release>:-O1>)
    gpuemu_precompile(${name}_test test)
    if(GPUEMU_UNITY AND NOT ARG_TESTS_ALONE)
      set_target_properties(${name}_test PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
    endif()
    set_property(GLOBAL APPEND PROPERTY GPUEMU_EXTRA_TESTS ${name}_test)
    gtest_discover_tests(${name}_test DISCOVERY_MODE PRE_TEST PROPERTIES LABELS unit TIMEOUT 120)
  endif()
endfunction()

# The compiler sees a dozen files at a time and reads their common headers once: the 35 files of
# cli/commands cost 38 s of processor time instead of 206 (2026-11-23), but a change to one of them costs a dozen. For a cold
# build; not for a folder that somebody edits in, and not for HOT ones: what is inlined in a loop must not depend on it.
option(GPUEMU_UNITY "Compile a folder's files together: for cold builds" OFF)

# The installed shared library is made of the folders' objects, so their code must not care where it
# is loaded; with nothing exported by default the compiler still calls and reads its own directly.
function(gpuemu_shareable name)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()
