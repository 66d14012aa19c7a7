# Finds the CUDA compiler and declares gpuemu_kernel().
# gpuemu_kernel(TARGET name SOURCE folder/x.cu ARCH compute_75)
#   compiles one source to PTX and embeds it in TARGET as a C++ source.
function(gpuemu_find_nvcc out)
  set(candidates "")
  if(DEFINED ENV{CUDA_HOME})
    list(APPEND candidates $ENV{CUDA_HOME}/bin/nvcc)
  endif()
  find_program(nvcc_in_path nvcc NO_CACHE)
  if(nvcc_in_path)
    list(APPEND candidates ${nvcc_in_path})
  endif()
  list(APPEND candidates /usr/local/cuda/bin/nvcc)
  # Where scripts/setup.sh puts the wheels if there is no toolkit.
  file(GLOB wheels ${PROJECT_SOURCE_DIR}/build/cuda/nvidia/cu13/bin/nvcc
    ${PROJECT_SOURCE_DIR}/build/cuda/*/nvidia/cu13/bin/nvcc
    ${PROJECT_SOURCE_DIR}/build/cuda/lib/*/site-packages/nvidia/cu13/bin/nvcc)
  list(APPEND candidates ${wheels})
  foreach(candidate IN LISTS candidates)
    if(EXISTS ${candidate})
      set(${out} ${candidate} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(${out} "" PARENT_SCOPE)
endfunction()

if(NOT GPUEMU_NVCC)
  gpuemu_find_nvcc(gpuemu_nvcc_found)
  set(GPUEMU_NVCC "${gpuemu_nvcc_found}" CACHE FILEPATH "The CUDA compiler" FORCE)
endif()
if(NOT GPUEMU_NVCC OR NOT EXISTS ${GPUEMU_NVCC})
  message(FATAL_ERROR "no CUDA compiler (looked at GPUEMU_NVCC, CUDA_HOME/bin, PATH, "
    "/usr/local/cuda/bin and build/cuda): run scripts/setup.sh")
endif()
message(STATUS "CUDA compiler: ${GPUEMU_NVCC}")

# nvcc runs in the source folder with a relative path, so that the PTX refers to kernels/gelu/gelu.cu on
# every host. Headers are listed explicitly, because the paths in nvcc's dependency file would be taken as
# relative to the build folder, where these files do not exist, and every build would compile every kernel again.
function(gpuemu_kernel)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "TARGET;SOURCE;ARCH" "")
  cmake_path(GET ARG_SOURCE STEM name)
  cmake_path(ABSOLUTE_PATH ARG_SOURCE BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE path)
  cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE relative)
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/*.cuh)
  set(ptx ${CMAKE_CURRENT_BINARY_DIR}/${name}.ptx)
  set(embedded ${CMAKE_CURRENT_BINARY_DIR}/${name}_ptx.cc)
  add_custom_command(OUTPUT ${ptx}
    COMMAND ${GPUEMU_NVCC} -ptx -lineinfo -std=c++17 -arch=${ARG_ARCH} -I. -o ${ptx} ${relative}
    DEPENDS ${path} ${headers} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    COMMENT "Compiling ${relative} to PTX" VERBATIM)
  add_custom_command(OUTPUT ${embedded}
    COMMAND ${Python3_EXECUTABLE} tools/embed_ptx.py ${name} ${relative} ${ptx} ${embedded}
    DEPENDS ${ptx} ${PROJECT_SOURCE_DIR}/tools/embed_ptx.py WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM)
  # Includes so little that reading the precompiled headers would take longer.
  set_source_files_properties(${embedded} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  target_sources(${ARG_TARGET} PRIVATE ${embedded})
endfunction()
