// The PTX files that the laws range over: tests/data/ptx and every lit test.
#pragma once

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "ptx/diag/diagnostic.hpp"
#include "ptx/parse/parse.hpp"

namespace kiln::test {

/// Every .ptx below a folder of the repository, in the order of their names.
inline std::vector<std::string> ptx_files(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> found;
  const fs::path root = fs::path(KILN_SOURCE_DIR) / folder;
  if (!fs::exists(root)) return found;
  for (const auto& entry : fs::recursive_directory_iterator(root))
    if (entry.is_regular_file() && entry.path().extension() == ".ptx") found.push_back(entry.path().string());
  std::sort(found.begin(), found.end());
  return found;
}

/// A module with what was said about it.
struct Parsed {
  diag::Sink sink{};
  ir::Module module{};
};

inline Parsed parse_text(std::string name, std::string text) {
  Parsed p;
  p.module = parse::parse(std::make_shared<const diag::Source>(std::move(name), std::move(text)), p.sink);
  return p;
}

}  // namespace kiln::test
