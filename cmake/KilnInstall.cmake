# What `cmake --install` writes: the libraries, the headers under include/kiln (so that "dsl/dsl.hpp" is found with
# -I include/kiln), the package for find_package(kiln), and the command.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/kiln)

foreach(folder ptx launch dsl emit verifier lower sim timing harness kernels tools/command)
  cmake_path(SET parent NORMALIZE ${CMAKE_INSTALL_INCLUDEDIR}/kiln/${folder}/..)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${folder})
    install(DIRECTORY ${folder} DESTINATION ${parent}
      FILES_MATCHING PATTERN *.hpp PATTERN *.def)
  endif()
endforeach()

install(EXPORT kiln NAMESPACE kiln:: FILE kilnTargets.cmake DESTINATION ${package_dir})
configure_package_config_file(cmake/kilnConfig.cmake.in ${PROJECT_BINARY_DIR}/kilnConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/kilnConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/kilnConfig.cmake ${PROJECT_BINARY_DIR}/kilnConfigVersion.cmake
  cmake/KilnAddKernels.cmake cmake/KilnAddModule.cmake cmake/kiln_module.cpp DESTINATION ${package_dir})
if(TARGET kiln)
  install(TARGETS kiln RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
