// harness::configured_ptxas of a program that goes to other machines: none.
#include "harness/ptxas/configured.hpp"

const char* kiln::harness::configured_ptxas() { return ""; }
