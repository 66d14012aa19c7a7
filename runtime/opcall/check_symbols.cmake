# cmake -DLIBRARY= -DNM= -DEXPECTED= -P check_symbols.cmake: the shared library exports exactly the
# names of the list. A name that disappears breaks every program that uses it.
execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[Tt] [A-Za-z0-9_]+" exported "${text}")
list(TRANSFORM exported REPLACE "^[Tt] " "")
list(SORT exported)
file(STRINGS ${EXPECTED} expected)
list(SORT expected)
if(NOT exported STREQUAL expected)
  message(FATAL_ERROR "${LIBRARY} exports\n  ${exported}\nand ${EXPECTED} has\n  ${expected}\n"
    "Add a new function to the list; never take one away.")
endif()
list(LENGTH exported count)
if(count EQUAL 0)
  message(FATAL_ERROR "nothing is exported")
endif()
message(STATUS "${count} functions, as listed")
