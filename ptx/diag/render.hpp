// The one renderer of findings: text for a person here, JSON for a tool and SARIF for a code review in render_json.hpp.
#pragma once

#include <string>
#include <string_view>

#include "ptx/diag/diagnostic.hpp"

namespace kiln::diag {

enum class Colour : bool { off, on };

/// clang's layout: `file:line:col: error: what must hold; got X [slug]`, the source line, a caret under the range, the
/// fix-it under the caret, then notes, then statements to insert.
std::string render_text(const Diagnostic&, Colour = Colour::off);
std::string render_text(const Sink&, Colour = Colour::off);

/// The same as an overview: of the portability findings and notes of one rule in one file, when there are more than
/// three, the first as above and the others by their lines. `shows_each` says how each is shown: "--all".
std::string render_grouped(const Sink&, std::string_view shows_each, Colour = Colour::off);

/// "2 errors, 1 portability" in the order of severity; "clean" when there is nothing to say.
std::string summary(const Sink&);

/// The same with the rules of what is no error, in the order of the text: "1 error, 3 portability (tcgen05-fence x2,
/// tcgen05-ld-wait x1), 1 incomplete (unfollowed x1)". For output that shows errors alone.
std::string summary_by_rule(const Sink&);

}  // namespace kiln::diag
