#include "tests/differential/forms_answers.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>

namespace kiln::test {

Answers::Answers(const std::string& folder, const harness::Ptxas& ptxas, const Setting& setting)
    : path_(folder + "/" + ptxas.version + "_" + spelling(setting)),
      head_("ptxas " + ptxas.version + " " + spelling(setting) + " " +
            std::to_string(std::hash<std::string>{}(module_of(setting, {})))) {
  std::ifstream in(path_);
  std::string line;
  if (!std::getline(in, line) || line != head_) return;
  while (std::getline(in, line))
    if (const std::size_t tab = line.find('\t'); tab != line.npos)
      refusals_[line.substr(0, tab)] = line.substr(tab + 1);
}

std::optional<Refusal> Answers::of(const std::string& instruction) const {
  const auto found = refusals_.find(instruction);
  return found == refusals_.end() ? std::nullopt : std::optional(found->second);
}

void Answers::add(const std::string& instruction, const Refusal& refusal) {
  if (!path_.empty()) refusals_.insert_or_assign(instruction, refusal);
}

void Answers::write() const {
  if (path_.empty()) return;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path());
  std::ofstream out(path_);
  out << head_ << "\n";
  for (const auto& [instruction, refusal] : refusals_) out << instruction << "\t" << refusal << "\n";
  if (!out.flush()) throw std::runtime_error("cannot write " + path_);
}

}  // namespace kiln::test
