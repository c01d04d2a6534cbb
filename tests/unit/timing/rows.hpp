// Tables of what hardware took: files of tests/data/timing.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace kiln::test {

/// The cells of each row of a table, without comments and the line of names, which begins with `first`.
inline std::vector<std::vector<std::string>> rows_of(const std::string& name, const std::string& first) {
  std::ifstream file(std::string(KILN_TEST_DATA) + "/timing/" + name);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#") || line.starts_with(first)) continue;
    std::vector<std::string>& cells = rows.emplace_back();
    std::stringstream in(line);
    for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
  }
  return rows;
}

}  // namespace kiln::test
