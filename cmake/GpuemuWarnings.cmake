# gpuemu::warnings: the warnings for all of our targets; also sanitizers and coverage, as the preset says.
add_library(gpuemu_warnings INTERFACE)
add_library(gpuemu::warnings ALIAS gpuemu_warnings)
target_compile_options(gpuemu_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
  # GCC 12 also warns about designated initializers that intentionally leave members to their defaults.
  -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  # The sources use GCC's pragmas, and only GCC's warnings are errors.
  target_compile_options(gpuemu_warnings INTERFACE -Wno-unknown-pragmas -Wno-error)
endif()
set(GPUEMU_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them")
set(GPUEMU_SANITIZE_LEVEL 1 CACHE STRING "How much their builds are optimised: 0 compiles in two thirds of the time")
option(GPUEMU_COVERAGE "Count executed lines with gcov" OFF)
option(GPUEMU_FUZZ "Build the libFuzzer programs of tests/fuzz; needs Clang" OFF)
if(GPUEMU_SANITIZE)
  add_compile_options(-fsanitize=${GPUEMU_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    -O${GPUEMU_SANITIZE_LEVEL}
    # GCC 12 mistakes code that a sanitizer adds for uses of uninitialized variables.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  add_link_options(-fsanitize=${GPUEMU_SANITIZE})
endif()
if(GPUEMU_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(GPUEMU_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()
