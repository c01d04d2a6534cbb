// kiln layout, for `kiln explain` too: tiles and fragments in CuTe's notation.
#pragma once

#include <string>

namespace kiln::command {

/// The layouts of a subject, printed. Throws InputError for a subject that is no tile and no fragment.
std::string layout_text(const std::string& subject, bool as_json);

}  // namespace kiln::command
