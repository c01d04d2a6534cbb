# kiln_add_kernels(<target> <file>...)
#
# Makes <target> the whole `kiln` command over the kernels in these files. One of the files defines the table:
#
#   std::span<const kiln::dsl::Entry> kiln::dsl::kernel_table();
function(kiln_add_kernels target)
  if(NOT ARGN)
    message(FATAL_ERROR "kiln_add_kernels(${target}): name at least one file of kernels")
  endif()
  add_executable(${target} ${ARGN})
  target_compile_options(${target} PRIVATE -fmacro-prefix-map=${CMAKE_CURRENT_SOURCE_DIR}/=)
  target_link_libraries(${target} PRIVATE kiln::main kiln::dsl kiln::launch)
endfunction()
