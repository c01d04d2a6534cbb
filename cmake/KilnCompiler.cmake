# Warnings, sanitizers, build type and ccache, for everything that Kiln itself compiles.

# A macro: add_compile_options must act on the caller's directory, CMAKE_* on its scope.
macro(kiln_compiler_settings)
  set(CMAKE_CXX_STANDARD 20)
  set(CMAKE_CXX_STANDARD_REQUIRED ON)
  set(CMAKE_CXX_EXTENSIONS OFF)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  set(CMAKE_LINK_DEPENDS_NO_SHARED ON)
  set(THREADS_PREFER_PTHREAD_FLAG ON)

  if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
  endif()

  find_program(KILN_CCACHE ccache)
  if(KILN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/cmake/through_ccache ${KILN_CCACHE})
  endif()

  add_compile_options(-Wall -Wextra $<$<BOOL:${KILN_WERROR}>:-Werror>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # Both cry wolf: the first on std::string + char* (GCC PR 105651), the second on moved variants at -O3.
    add_compile_options(-Wno-restrict -Wno-maybe-uninitialized)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fdiagnostics-color=auto)
  endif()

  # The PTX names the C++ line behind an instruction: from the project's root, not from this machine's.
  add_compile_options(-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)

  if(KILN_SANITIZE)
    add_compile_options(-fsanitize=${KILN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${KILN_SANITIZE})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      add_compile_options(-Wno-maybe-uninitialized)  # instrumented code confuses this warning
    endif()
  endif()
endmacro()
