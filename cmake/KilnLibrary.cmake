# kiln_library(<target> DIR <folder> | FILES <file>...
#              [DEPENDS <short name>...] [PACKAGES <lib>...] [PRIVATE_PACKAGES <lib>...] [NOT_INSTALLED])
#
# A static library of every .cpp under <folder> (looked up again at each build), or an INTERFACE library while
# there is none. `kiln_diag` gets the alias kiln::diag; DEPENDS takes the short names (`isa` is kiln::isa).
# The global property KILN_LIBRARIES lists every target made here except kiln_main.
function(kiln_library target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NOT_INSTALLED" "DIR" "FILES;DEPENDS;PACKAGES;PRIVATE_PACKAGES")
  if(arg_DIR)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${arg_DIR}/*.cpp)
  else()
    file(GLOB sources CONFIGURE_DEPENDS ${arg_FILES})
  endif()

  if(sources)
    set(scope PUBLIC)
    add_library(${target} STATIC ${sources})
    target_link_libraries(${target} PRIVATE ${arg_PRIVATE_PACKAGES})
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
  endif()
endfunction()
