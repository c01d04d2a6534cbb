// The pages of docs/rules, compiled in (cmake/EmbedDocs.cmake), so that `kiln explain` needs no files beside the
// program.
#pragma once

#include <string_view>

namespace kiln::command {

/// The text of docs/rules/SLUG.md; empty when there is no such page.
std::string_view rule_page(std::string_view slug);

}  // namespace kiln::command
