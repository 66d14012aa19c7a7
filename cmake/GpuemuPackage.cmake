# Packages: a .deb with its files in /usr/lib/gpuemu and links in /usr/bin, and a tarball that runs
# wherever it is unpacked. Made by: cd build/release && cpack (`cpack --preset` is not needed).
set(generated ${PROJECT_BINARY_DIR}/generated)
# Made by the installed program itself, so that they list what it supports.
set(program ${PROJECT_BINARY_DIR}/bin/gpuemu)
if(GPUEMU_ONE_PROGRAM)
  set(program ${PROJECT_BINARY_DIR}/one_program/gpuemu)
endif()
install(CODE "
  file(MAKE_DIRECTORY ${generated})
  foreach(shell bash zsh fish)
    execute_process(COMMAND ${program} completion \${shell}
      OUTPUT_FILE ${generated}/gpuemu.\${shell} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  execute_process(COMMAND ${program} man
    OUTPUT_FILE ${generated}/gpuemu.1 COMMAND_ERROR_IS_FATAL ANY)")
install(FILES ${generated}/gpuemu.bash DESTINATION share/bash-completion/completions RENAME gpuemu)
install(FILES ${generated}/gpuemu.zsh DESTINATION share/zsh/site-functions RENAME _gpuemu)
install(FILES ${generated}/gpuemu.fish DESTINATION share/fish/vendor_completions.d)
install(FILES ${generated}/gpuemu.1 DESTINATION share/man/man1)

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME gpuemu)
set(CPACK_PACKAGE_VENDOR gpuemu)
set(CPACK_PACKAGE_CONTACT "gpuemu maintainers <gpuemu@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Finds out whether GPU kernels are right, on a GPU or an emulator")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/packaging/places.cmake)
# The package contains the libraries, except for the C library and Python, which must be installed.
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.36), python3, python3-numpy")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "nvidia-cuda-toolkit")
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/link_into_usr.cmake)
include(CPack)
