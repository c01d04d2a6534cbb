// The ptxas that CMake found. A program that goes to other machines has cmake/no_ptxas.cpp in its place.
#include "harness/ptxas/configured.hpp"

#ifndef KILN_PTXAS_PATH
#define KILN_PTXAS_PATH ""
#endif

namespace kiln::harness {

const char* configured_ptxas() { return KILN_PTXAS_PATH; }

}  // namespace kiln::harness
