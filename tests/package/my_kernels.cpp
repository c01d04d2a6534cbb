// The kernels of a project outside Kiln: one, and the table that names it.
#include <span>

#include "kernels/table.hpp"

std::span<const kiln::kernels::Entry> kiln::kernels::table() { return {}; }
