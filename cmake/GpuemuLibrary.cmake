# gpuemu_library(NAME [HOT|COLD] [UNITY|NO_UNITY] [TESTS_ALONE] SOURCES.. HEADERS.. DEPS.. EXTERNAL.. TESTS.. TEST_DEPS.. OPTIONS.. ALONE..)
# Makes a static library of one folder. DEPS lists all permitted dependencies: a folder that is not named there
# may not be included (tools/tidy.py checks that) and cannot be linked. EXTERNAL names third-party targets
# for use within this folder only; TEST_DEPS are folders that only the tests use. HOT marks loops over every
# element or instruction, which release builds optimize most; COLD marks code that mostly waits or prints, which they optimize least,
# as all of cli/ and daemon/ that is not HOT. With GPUEMU_UNITY, the sources of a folder are
# compiled together, except those in ALONE, whose names clash with those of others; HOT folders only with UNITY, other
# folders not with NO_UNITY. The same applies to tests, but not with TESTS_ALONE, where most files have helpers of the same names.
function(gpuemu_library name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "HOT;COLD;UNITY;NO_UNITY;TESTS_ALONE" "" "SOURCES;HEADERS;DEPS;EXTERNAL;TESTS;TEST_DEPS;OPTIONS;ALONE")
  if(NOT ARG_SOURCES)  # Headers only.
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
  if(ARG_COLD OR (name MATCHES "^(cli|daemon)_" AND NOT ARG_HOT))
    gpuemu_cold(${name})
  endif()
  if(NOT ARG_OPTIONS)
    set(kind cold)
    if(ARG_HOT)
      set(kind hot)
    elseif(nlohmann_json::nlohmann_json IN_LIST ARG_EXTERNAL)
      set(kind json)
    endif()
    gpuemu_precompile(${name} ${kind})
  endif()
  set_target_properties(${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  gpuemu_shareable(${name})
  set_source_files_properties(${ARG_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  if(GPUEMU_UNITY AND (ARG_UNITY OR NOT (ARG_HOT OR ARG_NO_UNITY)))
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 24)
  endif()
  if(ARG_TESTS AND GPUEMU_TESTS)
    add_executable(${name}_test ${ARG_TESTS})
    target_link_libraries(${name}_test PRIVATE ${name} ${ARG_TEST_DEPS} GTest::gtest_main gpuemu::warnings)
    # Only where it is used: a compiler cache serves all checkouts with objects that do not contain the path.
    foreach(test IN LISTS ARG_TESTS)
      file(STRINGS ${test} uses REGEX GPUEMU_SOURCE_DIR)
      if(uses)
        set_source_files_properties(${test} PROPERTIES COMPILE_DEFINITIONS GPUEMU_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
      endif()
    endforeach()
    # Compiling most tests takes longer than running them.
    target_compile_options(${name}_test PRIVATE $<$<CONFIG:Release>:-O1>)
    gpuemu_precompile(${name}_test test)
    if(GPUEMU_UNITY AND NOT ARG_TESTS_ALONE)
      set_target_properties(${name}_test PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
    endif()
    set_property(GLOBAL APPEND PROPERTY GPUEMU_EXTRA_TESTS ${name}_test)
    gtest_discover_tests(${name}_test DISCOVERY_MODE PRE_TEST PROPERTIES LABELS unit TIMEOUT 120)
  endif()
endfunction()

# The compiler processes two dozen files at a time, reads their common headers once and instantiates their templates once: the 35 files
# of cli/commands took 38 s of processor time by the dozen instead of 206 (2026-11-23), but a change to one file recompiles up to two dozen. Meant for a clean
# build, not for folders under development. A HOT folder whose loops bench/ shows to be as fast says UNITY, as most of
# the emulator and the judge do.
option(GPUEMU_UNITY "Compile a folder's files together: for cold builds" OFF)
if(GPUEMU_UNITY)
  # From 128 MB on, GCC collects garbage in its own memory, which takes a tenth of the processor time of two dozen files: ops/dispatch
  # takes 11.2 instead of 12.3 s with 400 MB, and 727 instead of 610 MB; cli/report, the largest, 1.08 instead of 0.98 GB (2026-11-30).
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=400000>)
endif()

# Code that mostly waits, reads settings or prints: -O1 takes a quarter less compile time than -O2 (2026-11-30). Its false warnings
# are switched off.
function(gpuemu_cold name)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1> $<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:-Wno-maybe-uninitialized>)
endfunction()

# The installed shared library is made of the folders' objects, so these must be position-independent;
# since nothing is exported by default, the compiler still accesses its own code and data directly.
function(gpuemu_shareable name)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()
