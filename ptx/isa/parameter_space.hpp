// The spellings of the space of parameters. PTX ISA "Parameter State Space".
#pragma once

#include "ptx/isa/spaces.hpp"

namespace kiln::isa {

/// `.param`, whose kind follows from the function that it stands in, or one of its kinds written out: param::entry for
/// parameters of kernels, param::func for those of device functions and of calls.
constexpr bool is_parameter(Space s) { return s == Space::param || s == Space::param_entry || s == Space::param_func; }

}  // namespace kiln::isa
