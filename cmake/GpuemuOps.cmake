# gpuemu_op(NAME [OPS a b] [MODULES a b] [MODULES_SM80 c]): adds a built-in op, inside kernels/.
# NAME/NAME.cc declares the OPS (default: NAME); each NAME/MODULE.cu is compiled to PTX and embedded, for
# every GPU from compute capability 7.5 or 8.0 on. gpuemu_op_catalog() then writes the two lists that
# kernels/catalog.cc includes, so that they need not be maintained by hand.
function(gpuemu_op name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "OPS;MODULES;MODULES_SM80")
  if(NOT ARG_MODULES)
    set(ARG_MODULES ${name})
  endif()
  if(NOT ARG_OPS)
    set(ARG_OPS ${name})
  endif()
  target_sources(kernels PRIVATE ${name}/${name}.cc)
  foreach(module IN LISTS ARG_MODULES)
    gpuemu_kernel(TARGET kernels SOURCE ${name}/${module}.cu ARCH compute_75)
  endforeach()
  foreach(module IN LISTS ARG_MODULES_SM80)
    gpuemu_kernel(TARGET kernels SOURCE ${name}/${module}.cu ARCH compute_80)
  endforeach()
  set_property(TARGET kernels APPEND PROPERTY GPUEMU_OPS ${ARG_OPS})
  set_property(TARGET kernels APPEND PROPERTY GPUEMU_MODULES ${ARG_MODULES} ${ARG_MODULES_SM80})
endfunction()

# gpuemu_op_source(NAME HEADERS a.cuh b.cuh): embeds the text of kernels/NAME.cu, after that of the headers. It is compiled for each
# pair of types when that is first called. The text is the string
# kernels::kSource_STEM of the library.
function(gpuemu_op_source name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "HEADERS")
  cmake_path(GET name STEM stem)
  set(text "")
  foreach(file IN LISTS ARG_HEADERS ITEMS ${name}.cu)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    file(READ ${file} part)
    string(REGEX REPLACE "#(pragma once|include \"kernels/[^\n]*)\n" "" part "${part}")
    string(APPEND text "${part}")
  endforeach()
  set(made ${CMAKE_CURRENT_BINARY_DIR}/sources/${stem}.cc)
  file(CONFIGURE OUTPUT ${made} @ONLY CONTENT "#include <string_view>
namespace gpuemu::kernels {
extern const std::string_view kSource_${stem} = R\"GPUEMU(${text})GPUEMU\";
}  // namespace gpuemu::kernels
")
  target_sources(kernels PRIVATE ${made})
endfunction()

function(gpuemu_op_catalog)
  foreach(kind OP MODULE)
    get_target_property(names kernels GPUEMU_${kind}S)
    list(SORT names)
    list(TRANSFORM names REPLACE "(.+)" "GPUEMU_${kind}(\\1)\n")
    list(JOIN names "" rows)
    string(TOLOWER ${kind} file)
    file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/catalog/${file}s.def CONTENT "${rows}" @ONLY)
  endforeach()
  target_include_directories(kernels PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/catalog)
endfunction()
