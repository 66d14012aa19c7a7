# Checks a shared library that other programs load. A script defines LIBRARY, NM and READELF with -D,
# includes this file and calls the function.

# Fails unless LIBRARY exports exactly the names of the list, has this soname, and needs nothing but the C library
# and the libraries of the list NEEDS.
# `source` is the file that the list was read from, for the message.
function(gpuemu_check_library soname source names)
  list(SORT names)
  list(REMOVE_DUPLICATES names)
  execute_process(COMMAND ${NM} -D --defined-only --without-symbol-versions ${LIBRARY}
    OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL " [A-Za-z] [^\n]+" exported "${text}")
  list(TRANSFORM exported REPLACE "^ [A-Za-z] " "")
  list(SORT exported)
  if(NOT exported STREQUAL names)
    message(FATAL_ERROR "${LIBRARY} exports\n  ${exported}\nbut ${source} lists\n  ${names}")
  endif()
  execute_process(COMMAND ${READELF} -d ${LIBRARY} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
  string(FIND "${dynamic}" "soname: [${soname}]" position)
  if(position EQUAL -1)
    message(FATAL_ERROR "${LIBRARY} does not have the soname ${soname}:\n${dynamic}")
  endif()
  string(REGEX MATCHALL "NEEDED[^\n]*\\[[^]]+\\]" needed "${dynamic}")
  foreach(line IN LISTS needed)
    string(REGEX REPLACE "^.*\\[(.*)\\]$" "\\1" library "${line}")
    list(FIND NEEDS "${library}" position)
    if(position EQUAL -1 AND NOT line MATCHES "\\[(libc|libm|libdl|libpthread|ld-linux-x86-64)\\.so\\.[0-9]+\\]")
      message(FATAL_ERROR "${LIBRARY} needs a library that a program may have in another version: ${line}")
    endif()
  endforeach()
  list(LENGTH exported count)
  message(STATUS "${LIBRARY} exports the ${count} names of ${source}")
endfunction()
