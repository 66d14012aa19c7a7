# Read by CPack for each kind of package: sets the locations of its files.
if(CPACK_GENERATOR STREQUAL DEB)
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr/lib/gpuemu)
else()
  # The tarball has a single folder, wherever it is unpacked.
  set(CPACK_PACKAGING_INSTALL_PREFIX /)
endif()
