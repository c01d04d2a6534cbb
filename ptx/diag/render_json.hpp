// Findings as JSON for a tool, and as SARIF for a code review. A library of its own: few programs need it.
#pragma once

#include <string>
#include <string_view>

#include "ptx/diag/diagnostic.hpp"

namespace kiln::diag {

/// `{"diagnostics": [{severity, slug, message, file, line, column, end_column, source: {file, line}, fixits, notes,
/// reference}], "counts": {...}}`, one document with a trailing newline.
std::string render_json(const Sink&);

/// Bytes as a URI has them: letters, digits and `kept` as they are, each other byte as %XX. RFC 3986, 2.1.
std::string percent_encoded(std::string_view bytes, std::string_view kept);

/// SARIF 2.1.0 with one run; the fix-its of a finding are one fix; severities map to error, warning, note and (for
/// incomplete) warning with a property.
std::string render_sarif(const Sink&);

}  // namespace kiln::diag
