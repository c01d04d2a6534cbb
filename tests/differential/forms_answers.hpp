// What a ptxas said of instructions, kept from one run to the next.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "tests/differential/forms_judges.hpp"

namespace kiln::test {

/// The answers of one ptxas for one setting, in a file. What the file has need not be asked again; it is of no use when
/// the kernels declare other names than when it was written, and is begun anew then.
class Answers {
 public:
  /// Keeps nothing and knows nothing.
  Answers() = default;
  /// Those of a file in a folder, of which there need not be one yet.
  Answers(const std::string& folder, const harness::Ptxas&, const Setting&);

  std::optional<Refusal> of(const std::string& instruction) const;
  void add(const std::string& instruction, const Refusal&);
  /// Throws std::runtime_error when the file cannot be written.
  void write() const;

 private:
  std::string path_{}, head_{};
  std::map<std::string, Refusal> refusals_{};
};

}  // namespace kiln::test
