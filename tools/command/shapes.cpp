#include "tools/command/shapes.hpp"

#include <algorithm>
#include <sstream>

#include "harness/host/files.hpp"
#include "ptx/diag/refuse.hpp"
#include "tools/command/report/numbers.hpp"

namespace kiln::command {
namespace {

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  for (const char c : line) {
    if (c == ',')
      fields.emplace_back();
    else if (c != '\r' && (c != ' ' || !fields.back().empty()))
      fields.back() += c;
  }
  for (std::string& f : fields) f.erase(f.find_last_not_of(' ') + 1);
  return fields;
}

// Where the columns stand.
struct Columns {
  std::size_t m = 0, n = 0, k = 0, count = 0;
  std::optional<std::size_t> type{};
};

Columns columns_of(const std::vector<std::string>& names, const std::string& place) {
  const auto find = [&](std::string_view name) -> std::optional<std::size_t> {
    const auto found = std::find(names.begin(), names.end(), name);
    return found == names.end() ? std::nullopt : std::optional(std::size_t(found - names.begin()));
  };
  Columns c;
  c.count = names.size();
  for (const auto& [name, column] : {std::pair("m", &c.m), std::pair("n", &c.n), std::pair("k", &c.k)}) {
    const auto found = find(name);
    if (!found)
      diag::refuse("{}: a column {} is missing: the first line names m, n, k and, if they differ, type", place, name);
    *column = *found;
  }
  c.type = find("type");
  return c;
}

}  // namespace

std::vector<GemmShape> read_shapes(const std::string& path, const std::string& type) {
  const std::vector<std::uint8_t> bytes = harness::read_file(path);
  std::istringstream lines(std::string(bytes.begin(), bytes.end()));
  std::optional<Columns> columns;
  std::vector<GemmShape> shapes;
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string place = path + ":" + std::to_string(++number);
    const std::vector<std::string> fields = fields_of(line);
    if (line.starts_with('#') || (fields.size() == 1 && fields[0].empty())) continue;
    if (!columns) {
      columns = columns_of(fields, place);
      continue;
    }
    if (fields.size() != columns->count)
      diag::refuse("{}: must have {} fields, as the first line; got {}", place, columns->count, fields.size());
    const auto extent = [&](std::size_t column, const char* name) {
      const std::uint64_t value = whole_number(fields[column], place + ": " + name);
      if (value == 0) diag::refuse("{}: {}: must be at least 1; got 0", place, name);
      return value;
    };
    shapes.push_back({columns->type ? fields[*columns->type] : type, extent(columns->m, "m"), extent(columns->n, "n"),
                      extent(columns->k, "k")});
  }
  if (shapes.empty()) diag::refuse("{}: has no shapes", path);
  return shapes;
}

}  // namespace kiln::command
