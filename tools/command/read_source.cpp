#include "tools/command/read_source.hpp"

#include <filesystem>
#include <iostream>
#include <iterator>

#include "ptx/diag/error.hpp"

namespace kiln::command {

diag::SourcePtr read_source(const std::string& path) {
  if (path != "-") return diag::Source::read(path);
  std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  if (std::cin.bad()) throw diag::InputError("stdin: cannot be read");
  return std::make_shared<const diag::Source>("<stdin>", std::move(text));
}

std::string folder_of(const std::string& path) {
  return path == "-" ? std::string() : std::filesystem::path(path).parent_path().string();
}

}  // namespace kiln::command
