# Finds ptxas of CUDA 13.0 or later: $KILN_PTXAS, the cache variable KILN_PTXAS, PATH, CUDA_HOME, /usr/local/cuda,
# then the virtual environment that scripts/bootstrap makes. scripts/bootstrap looks in the same places.
# Result: KILN_PTXAS (cache), Ptxas_FOUND, Ptxas_VERSION. Kiln builds without it; what needs it says SKIPPED.
include(FindPackageHandleStandardArgs)

function(kiln_ptxas_version path result)
  execute_process(COMMAND ${path} --version OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed AND text MATCHES "release ([0-9]+\\.[0-9]+)")
    set(${result} ${CMAKE_MATCH_1} PARENT_SCOPE)
  else()
    set(${result} 0 PARENT_SCOPE)
  endif()
endfunction()

function(kiln_ptxas_is_new_enough result path)
  kiln_ptxas_version(${path} version)
  if(version VERSION_LESS 13.0)
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

if(DEFINED ENV{KILN_PTXAS})
  set(KILN_PTXAS $ENV{KILN_PTXAS} CACHE FILEPATH "ptxas of CUDA 13.0 or later" FORCE)
elseif(KILN_PTXAS AND NOT EXISTS ${KILN_PTXAS})
  unset(KILN_PTXAS CACHE)  # moved away since the last configure
endif()

file(GLOB kiln_ptxas_wheels
  ${PROJECT_SOURCE_DIR}/build/venv/lib/python3*/site-packages/nvidia/*/bin
  ${PROJECT_BINARY_DIR}/venv/lib/python3*/site-packages/nvidia/*/bin)
find_program(KILN_PTXAS ptxas
  PATHS ENV PATH $ENV{CUDA_HOME}/bin /usr/local/cuda/bin ${kiln_ptxas_wheels}
  NO_DEFAULT_PATH VALIDATOR kiln_ptxas_is_new_enough DOC "ptxas of CUDA 13.0 or later")
mark_as_advanced(KILN_PTXAS)

set(Ptxas_VERSION "")
if(KILN_PTXAS)
  kiln_ptxas_version(${KILN_PTXAS} Ptxas_VERSION)
endif()
find_package_handle_standard_args(Ptxas REQUIRED_VARS KILN_PTXAS VERSION_VAR Ptxas_VERSION)
