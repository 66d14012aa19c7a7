# gpuemu_precompile(TARGET KIND): makes TARGET use precompiled versions of the most common headers. KIND names the
# flags that such a header is bound to and what it adds: cold (-O2), json (-O2, with nlohmann/json and fmt/format), hot (-O3), or
# test (-O1, with GoogleTest). nlohmann/json is read only where a folder uses it, because it leaves templates that every file
# then instantiates again: an empty file takes 0.5 s of processor time with it and 0.1 s without (2026-11-30).
# For clean builds, like GPUEMU_UNITY: missing includes are not detected, and a compiler cache is less effective.
option(GPUEMU_PRECOMPILE "Read common headers precompiled: for cold builds" OFF)
set(gpuemu_common_headers <algorithm> <array> <atomic> <bit> <charconv> <chrono> <cmath> <cstdint> <cstdlib> <cstring> <filesystem>
  <fstream> <functional> <limits> <map> <memory> <mutex> <optional> <set> <span> <sstream> <string> <string_view> <thread>
  <unordered_map> <utility> <variant> <vector> <fmt/core.h>)

if(GPUEMU_PRECOMPILE)
  # GCC 12 forgets that precompiled headers are system headers and warns about code of the standard library.
  foreach(warning array-bounds restrict stringop-overflow stringop-overread)
    add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-${warning}>)
  endforeach()
  # Some libraries require this option, and a precompiled header must be compiled with the same one.
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-pthread>)
  # ccache stores objects compiled with such a header only with this setting (ccache's manual, "Precompiled headers").
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
  if(CMAKE_CXX_COMPILER_LAUNCHER)
    list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros)
  endif()
endif()

function(gpuemu_precompile target kind)
  if(NOT GPUEMU_PRECOMPILE)
    return()
  endif()
  set(image gpuemu_headers_${kind})
  if(NOT TARGET ${image})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/headers/${kind}.cc CONTENT "" @ONLY)
    add_library(${image} OBJECT ${PROJECT_BINARY_DIR}/headers/${kind}.cc)
    set(headers ${gpuemu_common_headers})
    if(kind STREQUAL test)
      target_compile_options(${image} PRIVATE $<$<CONFIG:Release>:-O1>)
      list(APPEND headers <gtest/gtest.h>)
      target_link_libraries(${image} PRIVATE GTest::gtest)
    else()
      gpuemu_shareable(${image})
    endif()
    if(kind STREQUAL json)
      list(APPEND headers <fmt/format.h> <fmt/ranges.h> <nlohmann/json.hpp>)
      target_link_libraries(${image} PRIVATE nlohmann_json::nlohmann_json)
    endif()
    if(kind STREQUAL hot)
      target_compile_options(${image} PRIVATE $<$<CONFIG:Release>:-O3>)
    endif()
    target_link_libraries(${image} PRIVATE fmt::fmt gpuemu::warnings)
    target_precompile_headers(${image} PRIVATE ${headers})
  endif()
  target_compile_definitions(${target} PRIVATE FMT_SHARED)  # As in the precompiled header.
  target_precompile_headers(${target} REUSE_FROM ${image})
endfunction()
