# cmake -DLIBRARY= -DVERSION= -DNM= -DREADELF= -DTABLE= -P check_library.cmake: fails unless libcudart.so.VERSION exports exactly the
# functions of the table and what nvcc's host code calls, has its soname and version, and needs nothing but
# libcuda.so.1 and the C library.
include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/CheckLibrary.cmake)
file(READ ${TABLE} table)
string(REGEX REPLACE "//[^\n]*\n" "" table "${table}")
string(REGEX MATCHALL "GPUEMU_RUNTIME_[A-Z_]*CALL\\([^)]*\\)" rows "${table}")
set(names __cudaGetKernel __cudaInitModule __cudaPopCallConfiguration __cudaPushCallConfiguration __cudaRegisterFatBinary __cudaRegisterFatBinaryEnd __cudaRegisterFunction
  __cudaRegisterHostVar __cudaRegisterManagedVar __cudaRegisterVar __cudaUnregisterFatBinary libcudart.so.${VERSION})
if(VERSION EQUAL 12)
  list(APPEND names __cudaRegisterSurface __cudaRegisterTexture)
else()
  list(APPEND names __cudaLaunchKernel __cudaLaunchKernel_ptsz)
endif()
foreach(row IN LISTS rows)
  string(REGEX REPLACE "[ \n]" "" row "${row}")
  string(REGEX REPLACE "^[^(]*\\(([^)]*)\\)$" "\\1" row "${row}")
  string(REPLACE "," ";" row "${row}")
  list(APPEND names ${row})
endforeach()
set(NEEDS libcuda.so.1)
gpuemu_check_library(libcudart.so.${VERSION} ${TABLE} "${names}")
