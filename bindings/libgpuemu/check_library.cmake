# cmake -DLIBRARY= -DNM= -DREADELF= -DEXPECTED= -P check_library.cmake: fails unless libgpuemu.so exports exactly
# the C names in the file EXPECTED and the table of driver calls, has its soname and needs nothing but the C library.
include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/CheckLibrary.cmake)
file(STRINGS ${EXPECTED} names)
list(APPEND names gpuemu_driver_calls GPUEMU_1 GPUEMU_PRIVATE)  # nm lists versions of names as symbols.
gpuemu_check_library(libgpuemu.so.1 ${EXPECTED} "${names}")
