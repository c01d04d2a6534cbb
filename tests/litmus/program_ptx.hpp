// A program of causality.hpp as a kernel, and a launch for it.
#pragma once

#include <string>

#include "launch/contract.hpp"
#include "tests/litmus/causality.hpp"

namespace kiln::test {

/// A kernel `k` with one parameter, global memory of zeros, for launch_of().
std::string ptx_of(const Program&);
launch::Contract launch_of(const Program&);

}  // namespace kiln::test
