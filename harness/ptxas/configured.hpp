// The ptxas of the machine that Kiln was built on.
#pragma once

namespace kiln::harness {

/// Its path; empty when there was none, or the program is for other machines.
const char* configured_ptxas();

}  // namespace kiln::harness
