# kiln_add_kernels(<target> [PRECOMPILED] <file>...)
#
# Makes <target> the whole `kiln` command over the kernels in these files. One of the files defines the table:
#
#   std::span<const kiln::dsl::Entry> kiln::dsl::kernel_table();
#
# A file of kernels runs once, to write PTX, so it is compiled with -O0 in every configuration, which takes half the time
# of -O3; target_compile_options(<target> PRIVATE -O2) says otherwise. PRECOMPILED parses dsl/dsl.hpp once for all files:
# it pays from the second compilation on.
function(kiln_add_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "PRECOMPILED" "" "")
  if(NOT arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "kiln_add_kernels(${target}): name at least one file of kernels")
  endif()
  add_executable(${target} ${arg_UNPARSED_ARGUMENTS})
  target_compile_options(${target} PRIVATE -O0 -fmacro-prefix-map=${CMAKE_CURRENT_SOURCE_DIR}/=)
  target_link_libraries(${target} PRIVATE kiln::main kiln::dsl kiln::launch)
  if(arg_PRECOMPILED)
    target_precompile_headers(${target} PRIVATE <dsl/dsl.hpp>)
  endif()
endfunction()
