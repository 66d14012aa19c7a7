# Read by CPack for each kind of package: where in it the files lie.
if(CPACK_GENERATOR STREQUAL DEB)
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr/lib/gpuemu)
else()
  # The folder of the tarball is the whole of it, wherever it is unpacked.
  set(CPACK_PACKAGING_INSTALL_PREFIX /)
endif()
