// The one renderer: the same findings as text for a person, JSON for a tool, SARIF for a code review.
#pragma once

#include <string>

#include "ptx/diag/diagnostic.hpp"

namespace kiln::diag {

enum class Colour : bool { off, on };

/// clang's layout: `file:line:col: error: what must hold; got X [slug]`, the source line, a caret under the range, the
/// fix-it under the caret, then notes, then statements to insert.
std::string render_text(const Diagnostic&, Colour = Colour::off);
std::string render_text(const Sink&, Colour = Colour::off);

/// `{"diagnostics": [{severity, slug, message, file, line, column, end_column, source: {file, line}, fixits, notes,
/// reference}], "counts": {...}}`, one document with a trailing newline.
std::string render_json(const Sink&);

/// SARIF 2.1.0 with one run; the fix-its of a finding are one fix; severities map to error, warning, note and (for
/// incomplete) warning with a property.
std::string render_sarif(const Sink&);

/// "2 errors, 1 portability" in the order of severity; "clean" when there is nothing to say.
std::string summary(const Sink&);

}  // namespace kiln::diag
