// What the profiler must know of a kernel before it rewrites it: what each role does, and what completes each mbarrier.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/profile/profile.hpp"
#include "ptx/ir/names.hpp"

namespace kiln::harness {

/// mbarrier.try_wait and mbarrier.test_wait.
bool is_wait(const ir::Instruction&);
/// The phase that an instruction begins, if it begins one: copies into shared memory, MMAs, and what an epilogue does.
std::optional<Phase> phase_of(const ir::Instruction&);

/// What is waited for: the phase, and the variable that holds the mbarrier, where it is known.
struct WaitFacts {
  Phase phase = Phase::run;
  std::string barrier{};
};

/// A wait that retries: how many statements come before it from its label on, and the last one after it, the branch
/// back.
struct WaitExtent {
  std::size_t before = 0, last = 0;
};

/// Facts about one function, by the names in its text.
class KernelFacts {
 public:
  explicit KernelFacts(const ir::Function&);

  WaitFacts wait(const ir::Instruction&, const std::string& role) const;
  /// Of the wait at `wait` in `body`, where `written` is what stands before it.
  static WaitExtent extent(const std::vector<ir::Statement>& written, const std::vector<ir::Statement>& body,
                           std::size_t wait);
  /// What comes after a wait: the next thing that begins a phase, else what the role does.
  Phase phase_behind(const std::vector<ir::Statement>&, std::size_t from, const std::string& role) const;

 private:
  struct Role {
    bool copies = false, multiplies = false, stores = false;
  };

  void scan(const std::vector<ir::Statement>&, std::string& role);
  void define(const ir::Instruction&);
  void complete(const ir::Instruction&);
  // The shared variable that an address comes from; empty: more than one, or none.
  std::string origin(const ir::Operand&, int depth = 0) const;

  std::map<std::string, Role> roles_{};
  std::map<std::string, std::vector<std::vector<ir::Operand>>> definitions_{};  // copies: what they are of is rewritten
  std::set<std::string> barriers_{};                                            // shared variables
  std::set<std::string> by_copies_{}, by_multiplies_{};
};

}  // namespace kiln::harness
