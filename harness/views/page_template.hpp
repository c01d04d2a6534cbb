// The pages of this folder, compiled in (cmake/EmbedDocs.cmake), and how their places are filled.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln::harness {

/// The text of harness/views/NAME.html; empty when there is no such page.
std::string_view page_template(std::string_view name);

/// A page with each {{place}} replaced. Throws InternalError for a place that is not given.
std::string fill_page(std::string_view name, const std::vector<std::pair<std::string, std::string>>& places);

}  // namespace kiln::harness
