# cmake -DLIBRARY= -DNM= -DREADELF= -DTABLE= -DENTRIES= -P check_library.cmake: fails unless libcuda.so.1 exports exactly the
# functions of the driver API in TABLE and those that ENTRIES adds, has its soname, and needs nothing but libgpuemu.so.1 and the
# C library.
include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/CheckLibrary.cmake)
file(READ ${TABLE} table)
string(REGEX REPLACE "//[^\n]*\n" "" table "${table}")
string(REGEX MATCHALL "GPUEMU_DRIVER_[A-Z_]*CALL\\([^)]*\\)" rows "${table}")
file(STRINGS ${ENTRIES} names REGEX "^GPUEMU_DRIVER_ENTRY")
list(TRANSFORM names REPLACE "^[^(]*\\(([^,]*),.*$" "\\1")
set(NEEDS libgpuemu.so.1)
foreach(row IN LISTS rows)
  string(REGEX REPLACE "[ \n]" "" row "${row}")
  string(REGEX REPLACE "^[^(]*\\(([^)]*)\\)$" "\\1" row "${row}")
  string(REPLACE "," ";" row "${row}")
  list(SUBLIST row 2 -1 symbols)
  list(APPEND names ${symbols})
endforeach()
gpuemu_check_library(libcuda.so.1 ${TABLE} "${names}")
