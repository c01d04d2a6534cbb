#include "harness/views/page_template.hpp"

#include <algorithm>

#include "ptx/diag/error.hpp"

namespace kiln::harness {

std::string fill_page(std::string_view name, const std::vector<std::pair<std::string, std::string>>& places) {
  std::string_view left = page_template(name);
  std::string out;
  for (;;) {
    const std::size_t at = left.find("{{");
    out += left.substr(0, at);
    if (at == std::string_view::npos) return out;
    const std::size_t end = left.find("}}", at);
    const std::string_view place = left.substr(at + 2, end - at - 2);
    const auto found = std::find_if(places.begin(), places.end(), [&](const auto& p) { return p.first == place; });
    if (found == places.end()) throw diag::InternalError("page " + std::string(name) + " has no " + std::string(place));
    out += found->second;
    left.remove_prefix(end + 2);
  }
}

}  // namespace kiln::harness
