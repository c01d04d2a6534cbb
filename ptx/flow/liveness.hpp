// How many registers hold values that are still needed, at each operation.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/flow/cfg.hpp"
#include "ptx/flow/definitions.hpp"

namespace kiln::flow {

/// Registers that are live around each operation of a function, in words of 32 bits: what an assembler needs at least
/// when it keeps every value that it has. Predicates do not count; a guarded write leaves the old value alive.
class Liveness {
 public:
  Liveness(const ir::Code&, const Cfg&, const Definitions&);

  /// Words that are live before or after an operation, whichever is more; the words that it writes always count.
  std::uint32_t words_at(std::uint32_t operation) const { return words_[operation]; }

 private:
  using Set = std::vector<bool>;  // by register

  void settle();
  void count(const BasicBlock&, Set live);
  void step(std::uint32_t operation, Set& live) const;
  std::uint32_t words(const Set&) const;

  const ir::Code& code_;
  const Cfg& cfg_;
  const Definitions& definitions_;
  std::vector<Set> behind_{};  // by block: live where it ends
  std::vector<std::uint32_t> words_;
};

}  // namespace kiln::flow
