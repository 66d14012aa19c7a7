# cmake -DLIBRARY= -DNM= -DEXPECTED= -P check_symbols.cmake: fails unless the library defines exactly the C names in
# the list. Every program that uses a removed name would break.
execute_process(COMMAND ${NM} -g --defined-only ${LIBRARY} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL " T gpuemu_[a-z_0-9]+" exported "${text}")
list(TRANSFORM exported REPLACE "^ T " "")
list(SORT exported)
file(STRINGS ${EXPECTED} expected)
list(SORT expected)
if(NOT exported STREQUAL expected)
  message(FATAL_ERROR "${LIBRARY} defines\n  ${exported}\nand ${EXPECTED} has\n  ${expected}\n"
    "Add a new function to the list; never take one away.")
endif()
list(LENGTH exported count)
if(count EQUAL 0)
  message(FATAL_ERROR "no function is defined")
endif()
message(STATUS "${count} functions, as listed")
