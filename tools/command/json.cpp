#include "tools/command/json.hpp"

#include <fmt/format.h>

#include "ptx/diag/error.hpp"
#include "tools/command/report/version.hpp"

namespace kiln::command {

// The text may be of any writer, so the member takes the white space that stands before the first one.
std::string versioned(std::string object) {
  const std::size_t first = object.find('"');
  if (!object.starts_with('{') || first == object.npos) throw diag::InternalError("a JSON object has no members");
  const std::string space = object.substr(1, first - 1);
  return object.insert(first, fmt::format("\"version\": \"{}\",{}", version(), space.empty() ? " " : space));
}

// Names and messages may hold bytes of an input that is not UTF-8.
std::string versioned(const nlohmann::ordered_json& object) {
  return versioned(object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace kiln::command
