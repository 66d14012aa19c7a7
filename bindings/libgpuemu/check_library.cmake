# cmake -DLIBRARY= -DNM= -DREADELF= -DEXPECTED= -P check_library.cmake: fails unless libgpuemu.so exports exactly
# the C names in the file EXPECTED, has its soname and needs nothing but the C library.
include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/CheckLibrary.cmake)
file(STRINGS ${EXPECTED} names)
list(APPEND names GPUEMU_1)  # nm lists the version of the names as a symbol.
gpuemu_check_library(libgpuemu.so.1 ${EXPECTED} "${names}")
