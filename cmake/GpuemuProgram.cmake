# gpuemu_program(NAME SOURCES.. DEPS.. EXTERNAL..)
# Makes an executable in build/<preset>/bin; not installed if the folder is not part of a whole build. SOURCES define
# int GPUEMU_MAIN(int, char**), so that the programs can also be linked into one.
function(gpuemu_program name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;DEPS;EXTERNAL")
  string(MAKE_C_IDENTIFIER ${name}_main entry)
  add_library(${entry} OBJECT ${ARG_SOURCES})
  target_compile_definitions(${entry} PRIVATE GPUEMU_MAIN=${entry})
  target_link_libraries(${entry} PRIVATE ${ARG_DEPS} ${ARG_EXTERNAL} gpuemu::warnings)
  gpuemu_cold(${entry})
  gpuemu_shareable(${entry})  # The precompiled header has the same flags.
  gpuemu_precompile(${entry} cold)
  gpuemu_executable(${name} bin "  {\"${name}\", ${entry}}," "int ${entry}(int, char**);" ${entry} ${ARG_DEPS} ${ARG_EXTERNAL})
  get_property(left_out DIRECTORY PROPERTY EXCLUDE_FROM_ALL)
  if(NOT left_out)
    set_property(GLOBAL APPEND PROPERTY GPUEMU_PROGRAMS ${name})
    set_property(GLOBAL APPEND PROPERTY GPUEMU_PROGRAM_DEPS ${entry} ${ARG_DEPS} ${ARG_EXTERNAL})
  endif()
endfunction()

# Makes TARGET in FOLDER of the build from the main() of packaging/programs.cc.in, with these rows and their declarations, and DEPS.
function(gpuemu_executable target folder rows declarations)
  configure_file(${PROJECT_SOURCE_DIR}/packaging/programs.cc.in ${CMAKE_CURRENT_BINARY_DIR}/${target}.cc @ONLY)
  add_executable(${target} ${CMAKE_CURRENT_BINARY_DIR}/${target}.cc)
  target_link_libraries(${target} PRIVATE ${ARGN} gpuemu::warnings)
  # DT_RPATH rather than DT_RUNPATH, because only the former also applies to the libraries of the libraries.
  target_link_options(${target} PRIVATE -Wl,--disable-new-dtags
    # The build id lets the command line recognize a daemon of another build.
    -Wl,--build-id=sha1)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${folder}
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
endfunction()

# Installs one executable that contains all programs, with a link for each, because each program contains the emulator
# (54 MB if installed separately, 2026-11-24). Wheels cannot contain links, so there the programs are separate.
option(GPUEMU_ONE_PROGRAM "Install one executable with a link for each program" ON)
function(gpuemu_install_programs)
  get_property(names GLOBAL PROPERTY GPUEMU_PROGRAMS)
  list(REMOVE_ITEM names gpuemu)
  list(PREPEND names gpuemu)  # Under any other name the executable is the command line.
  set(installed ${names})
  if(GPUEMU_ONE_PROGRAM)
    get_property(deps GLOBAL PROPERTY GPUEMU_PROGRAM_DEPS)
    list(REMOVE_DUPLICATES deps)
    set(rows "")
    set(declarations "")
    set(folder ${PROJECT_BINARY_DIR}/one_program)
    file(MAKE_DIRECTORY ${folder})
    foreach(name IN LISTS names)
      string(MAKE_C_IDENTIFIER ${name}_main entry)
      string(APPEND rows "    {\"${name}\", ${entry}},\n")
      string(APPEND declarations "int ${entry}(int, char**);\n")
      file(CREATE_LINK gpuemu-programs ${folder}/${name} SYMBOLIC)
      install(PROGRAMS ${folder}/${name} DESTINATION ${CMAKE_INSTALL_BINDIR})
    endforeach()
    gpuemu_executable(gpuemu-programs one_program "${rows}" "${declarations}" ${deps})
    set(installed gpuemu-programs)
  endif()
  install(TARGETS ${installed} RUNTIME_DEPENDENCY_SET gpuemu_libraries RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  add_custom_target(installed-programs DEPENDS ${installed} gpuemu-draws)
endfunction()

# Includes every library that the programs need and that a bare host may lack, so that the install folder runs wherever it
# is copied. The C library must be the host's, because its GPU driver is bound to it. NVRTC is included
# if it was found, because GPU nodes rarely have a CUDA compiler.
function(gpuemu_install_rest)
  install(RUNTIME_DEPENDENCY_SET gpuemu_libraries
    PRE_EXCLUDE_REGEXES "^ld-linux" "^libc\\.so" "^libm\\.so" "^libdl\\.so" "^libpthread\\.so" "^librt\\.so"
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  set(GPUEMU_BUNDLE_NVRTC "" CACHE PATH "Folder of libnvrtc.so.13 to install with the programs")
  set(GPUEMU_BUNDLE_CUDA_INCLUDE "" CACHE PATH "Folder of cuda_fp16.h to install with the programs")
  if(GPUEMU_BUNDLE_NVRTC)
    file(GLOB nvrtc ${GPUEMU_BUNDLE_NVRTC}/libnvrtc.so.13 ${GPUEMU_BUNDLE_NVRTC}/libnvrtc-builtins.so.13*)
    install(FILES ${nvrtc} DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
  if(GPUEMU_BUNDLE_CUDA_INCLUDE)
    install(DIRECTORY ${GPUEMU_BUNDLE_CUDA_INCLUDE}/ DESTINATION include)
  endif()
  install(DIRECTORY examples DESTINATION share/gpuemu)
  option(GPUEMU_PYTHON_PACKAGE "Install the Python package with the programs" ON)
  if(GPUEMU_PYTHON_PACKAGE)
    install(DIRECTORY python/gpuemu DESTINATION share/gpuemu/python PATTERN __pycache__ EXCLUDE)
  endif()
  if(SKBUILD AND NOT GPUEMU_PYTHON_PACKAGE)
    # In a wheel, beside the package: Python reads it when it starts. A build folder that made a wheel keeps SKBUILD set.
    install(FILES python/gpuemu-run.pth DESTINATION ${SKBUILD_PLATLIB_DIR})
  endif()
  install(FILES README.md LICENSE DESTINATION share/gpuemu OPTIONAL)
endfunction()
