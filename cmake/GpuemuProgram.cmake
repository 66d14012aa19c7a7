# gpuemu_program(NAME SOURCES.. DEPS.. EXTERNAL..)
# One executable in build/<preset>/bin, installed with every library that it needs and that a bare
# machine may lack, so that the install folder runs wherever it is copied. In a folder that a whole build leaves out it is not
# installed either.
function(gpuemu_program name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;DEPS;EXTERNAL")
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} ${ARG_EXTERNAL} gpuemu::warnings)
  # DT_RPATH and not DT_RUNPATH: only the former also serves the libraries of the libraries.
  target_link_options(${name} PRIVATE -Wl,--disable-new-dtags
    # By its build id the command line tells a daemon of another build from its own.
    -Wl,--build-id=sha1)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  get_property(left_out DIRECTORY PROPERTY EXCLUDE_FROM_ALL)
  if(left_out)
    return()
  endif()
  install(TARGETS ${name} RUNTIME_DEPENDENCY_SET gpuemu_libraries RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# The C library belongs to the machine: the driver of its GPU is bound to it. NVRTC is taken along
# where it is known, because a GPU node seldom has a CUDA compiler.
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
  install(FILES README.md LICENSE DESTINATION share/gpuemu OPTIONAL)
endfunction()
