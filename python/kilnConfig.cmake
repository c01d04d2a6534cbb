# The CMake package of the wheel: headers of the DSL, and kiln_add_module. `kiln-config --cmakedir` says where it is:
#
#   cmake -Dkiln_DIR="$(kiln-config --cmakedir)" ...
#
# The command that came with it takes the kernels: KILN_KERNELS=libmine.so kiln run my_kernel.
if(NOT TARGET kiln::dsl)
  add_library(kiln::dsl INTERFACE IMPORTED)
  cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH kiln_root)
  set_target_properties(kiln::dsl PROPERTIES INTERFACE_COMPILE_FEATURES cxx_std_20
    INTERFACE_INCLUDE_DIRECTORIES ${kiln_root}/include/kiln
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${kiln_root}/include)
  unset(kiln_root)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/KilnAddModule.cmake)
