// Findings that are known already: `kiln check --write-baseline` keeps them, and `--baseline` reports what is new.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "ptx/diag/diagnostic.hpp"

namespace kiln::command {

/// How many times each kind of finding is known. A kind is the file's name without its folder, the severity, the rule
/// and the statement without the numbers of its registers and labels: a compiler numbers them anew after each small
/// change, and lines move.
class Baseline {
 public:
  static Baseline of(const diag::Sink&);
  /// Throws InputError with the place of what is wrong.
  static Baseline read(const std::string& path);

  /// The text of a baseline file.
  std::string json() const;
  /// The findings of `found` that are not known. Those that are known are used up: of the next findings of the kind,
  /// only as many are known as are left.
  diag::Sink take_known(const diag::Sink& found);

 private:
  using Kind = std::tuple<std::string, std::string, std::string, std::string>;  // file, severity, rule, statement
  static Kind kind(const diag::Diagnostic&);

  std::map<Kind, std::size_t> places_{};
};

}  // namespace kiln::command
