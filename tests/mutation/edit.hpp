// Makes mutants: the edits that operators are put together from.
#pragma once

#include "tests/mutation/mutant.hpp"
#include "tests/mutation/site.hpp"

namespace kiln::mutation {

/// Which class an edit stands for, and how severe a report must be.
struct Bug {
  int number = 0;
  Profile profile = Profile::error;
};

class Editor {
 public:
  Editor(std::string kernel, const Sites& sites, const ir::Module& module)
      : kernel_(std::move(kernel)), sites_(sites), module_(module) {}

  void drop(const Site&, const char* rewrite, Bug);
  void twice(const Site&, const char* rewrite, Bug);
  /// Replaces the first `from` in the mnemonic; does nothing when it is not there.
  void respell(const Site&, const char* rewrite, std::string_view from, std::string_view to, Bug);
  void replace(const Site&, diag::Place, const std::string& by, const char* rewrite, Bug);
  /// The operand as `operation<bits> %mut, operand, amount` makes it ("add.u", "xor.b"); 0 bits: as wide as its
  /// register.
  void change(const Site&, const ir::Operand&, int bits, const char* operation, const std::string& amount,
              const char* rewrite, Bug);
  /// Moves a site directly before or after another one of its block; false when that is not possible.
  bool move(const Site&, const Site& to, bool after, const char* rewrite, Bug);
  /// Lane 0 alone executes it.
  void one_lane(const Site&, const char* rewrite, Bug);

  std::vector<Mutant> made{};

 private:
  bool is_wide(std::string_view name) const;
  void add(const Site&, diag::Place, std::string by, const char* rewrite, Bug);

  std::string kernel_;
  const Sites& sites_;
  const ir::Module& module_;
};

}  // namespace kiln::mutation
