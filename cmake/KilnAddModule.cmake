# kiln_add_module(<target> <file>...)
#
# Makes <target> a shared object of the kernels in these files, which any installed `kiln` of this version takes:
#
#   KILN_KERNELS=libmine.so kiln run my_kernel      or      kiln --kernels libmine.so run my_kernel
#
# One of the files defines the table, as for kiln_add_kernels. What the DSL calls is in the command, so the shared object
# alone links nothing of Kiln.
set(KILN_MODULE_SOURCE ${CMAKE_CURRENT_LIST_DIR}/kiln_module.cpp)
function(kiln_add_module target)
  if(NOT ARGN)
    message(FATAL_ERROR "kiln_add_module(${target}): name at least one file of kernels")
  endif()
  add_library(${target} MODULE ${ARGN} ${KILN_MODULE_SOURCE})
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_compile_definitions(${target} PRIVATE KILN_VERSION="${kiln_VERSION}")
  target_compile_options(${target} PRIVATE -O0 -fmacro-prefix-map=${CMAKE_CURRENT_SOURCE_DIR}/=)
  target_include_directories(${target} PRIVATE $<TARGET_PROPERTY:kiln::dsl,INTERFACE_INCLUDE_DIRECTORIES>)
  target_include_directories(${target} SYSTEM PRIVATE $<TARGET_PROPERTY:kiln::dsl,INTERFACE_SYSTEM_INCLUDE_DIRECTORIES>)
  # Its own table, and not the command's of the same name.
  target_link_options(${target} PRIVATE -Wl,-Bsymbolic)
endfunction()
