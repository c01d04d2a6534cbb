// A trace in the trace-event format that Perfetto (ui.perfetto.dev) and chrome://tracing read.
#pragma once

#include <string>

#include "sim/views/trace.hpp"

namespace kiln::harness {

/// The whole document. One tick is written as one microsecond, since the format knows nothing else; its metadata says
/// so.
std::string trace_json(const sim::Trace&, const std::string& name);

}  // namespace kiln::harness
