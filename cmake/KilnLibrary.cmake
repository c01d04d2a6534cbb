# kiln_library(<target> DIR <folder> [EXCEPT <path in the folder>...] | FILES <file>...
#              [ALONE <part of a path>...] [BATCH <files>] [DEPENDS <short name>...] [PACKAGES <lib>...]
#              [PRIVATE_PACKAGES <lib>...] [NOT_INSTALLED])
#
# A static library of every .cpp under <folder> (looked up again at each build) but those under a path of EXCEPT, which
# have a library of their own, or an INTERFACE library while there is none. ALONE and BATCH are for kiln_unity.
# `kiln_diag` gets the alias kiln::diag; DEPENDS takes the short names (`isa` is kiln::isa).
# The global property KILN_LIBRARIES lists every target made here except kiln_main.
function(kiln_library target)
  set(sources "")
  cmake_parse_arguments(PARSE_ARGV 1 arg "NOT_INSTALLED" "DIR;BATCH" "EXCEPT;FILES;ALONE;DEPENDS;PACKAGES;PRIVATE_PACKAGES")
  if(arg_DIR)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${arg_DIR}/*.cpp)
    foreach(path IN LISTS arg_EXCEPT)
      list(FILTER sources EXCLUDE REGEX "^${PROJECT_SOURCE_DIR}/${arg_DIR}/${path}(/|$)")
    endforeach()
  elseif(arg_FILES)
    file(GLOB sources CONFIGURE_DEPENDS ${arg_FILES})
  endif()

  if(sources)
    set(scope PUBLIC)
    add_library(${target} STATIC ${sources})
    target_link_libraries(${target} PRIVATE ${arg_PRIVATE_PACKAGES})
    kiln_unity(${target} BATCH ${arg_BATCH} ALONE ${arg_ALONE})
  else()
    set(scope INTERFACE)
    add_library(${target} INTERFACE)
  endif()

  list(TRANSFORM arg_DEPENDS PREPEND kiln::)
  target_link_libraries(${target} ${scope} ${arg_DEPENDS} ${arg_PACKAGES})
  target_compile_features(${target} ${scope} cxx_std_20)
  target_include_directories(${target} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/kiln>)

  string(REGEX REPLACE "^kiln_" "" short ${target})
  add_library(kiln::${short} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${short})
  if(NOT target STREQUAL "kiln_main")
    set_property(GLOBAL APPEND PROPERTY KILN_LIBRARIES ${target})
  endif()
  if(NOT arg_NOT_INSTALLED)
    install(TARGETS ${target} EXPORT kiln ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
endfunction()

# kiln_unity(<target> [BATCH <files>] [ALONE <part of a path>...]): with KILN_UNITY, compiles its files together, BATCH or
# KILN_UNITY_BATCH of them as one, so that headers and templates are compiled once for many. Files with a name of ALONE in
# their path stay alone.
function(kiln_unity target)
  if(NOT KILN_UNITY)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "BATCH" "ALONE")
  if(NOT arg_BATCH)
    set(arg_BATCH ${KILN_UNITY_BATCH})
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${arg_BATCH})
  get_target_property(sources ${target} SOURCES)
  foreach(name IN LISTS arg_ALONE)
    set(alone ${sources})
    list(FILTER alone INCLUDE REGEX "${name}")
    set_source_files_properties(${alone} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
endfunction()

# kiln_definitions(<target> <definition>...): private compile definitions; nothing while the folder has no .cpp.
function(kiln_definitions target)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    target_compile_definitions(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# kiln_options(<target> <option>...): private compile options; nothing while the folder has no .cpp.
function(kiln_options target)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    target_compile_options(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# kiln_precompile(<target> <header>...): a precompiled header; nothing while the folder has no .cpp.
function(kiln_precompile target)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    target_precompile_headers(${target} PRIVATE ${ARGN})
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  endif()
endfunction()

# kiln_precompile_shared(<name> <options> <header>... FOR <short name>...): a precompiled header for several libraries. They
# must be compiled with these options, or the compiler complains that it cannot use it.
function(kiln_precompile_shared name options)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "FOR")
  add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp)
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_compile_options(${name} PRIVATE ${options} $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE fmt::fmt)
  target_precompile_headers(${name} PRIVATE ${arg_UNPARSED_ARGUMENTS})
  foreach(library IN LISTS arg_FOR)
    kiln_reuse(kiln_${library} ${name})
  endforeach()
endfunction()

# kiln_reuse(<target> <name>): compiles the target with the precompiled header of that name.
function(kiln_reuse target name)
  target_precompile_headers(${target} REUSE_FROM ${name})
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endfunction()
