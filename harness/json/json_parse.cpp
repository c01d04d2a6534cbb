#include <cstdio>
#include <set>
#include <vector>

#include "harness/json/json_node.hpp"

namespace kiln::harness {
namespace {

constexpr int max_depth = 64;

// "[json.exception.parse_error.101] parse error at line 3, column 5: syntax error while parsing value - unexpected x"
std::string located(const nlohmann::json::parse_error& error, const std::string& name) {
  std::string_view what = error.what();
  if (const std::size_t end = what.find("] "); end != std::string_view::npos) what.remove_prefix(end + 2);
  int line = 0, column = 0;
  if (std::sscanf(std::string(what).c_str(), "parse error at line %d, column %d", &line, &column) != 2)
    return fmt::format("{}: {}", name, what);
  const std::size_t colon = what.find(": ");
  std::string text(colon == std::string_view::npos ? what : what.substr(colon + 2));
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return fmt::format("{}:{}:{}: {}", name, line, column, text);
}

}  // namespace

Json parse_json(std::string_view text, const std::string& name) {
  std::vector<std::set<std::string>> keys;
  const auto check = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth > max_depth) diag::refuse("{}: nested deeper than {} levels", name, max_depth);
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second)
      diag::refuse("{}: the key {} is there twice in one object", name, value.dump());
    return true;
  };
  try {
    return Json::parse(text, check);
  } catch (const nlohmann::json::parse_error& error) {
    throw diag::InputError(located(error, name));
  } catch (const nlohmann::json::exception& error) {  // a number that no type holds
    diag::refuse("{}: {}", name, error.what());
  }
}

}  // namespace kiln::harness
