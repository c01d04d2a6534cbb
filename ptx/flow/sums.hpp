// Sums that hang on remainders alone. A compiler that strength-reduces `base + 8 * (i % 3)` adds 8 to a register of its
// own each time that i grows, and subtracts 24 * (i / 3): no part of that sum comes back to what it was, but the sum
// does.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "ptx/flow/cfg.hpp"
#include "ptx/flow/division.hpp"

namespace kiln::flow {

class Sums {
 public:
  Sums(const ir::Code& code, const Cfg& cfg, const Definitions& definitions, const KnownBits& known)
      : code_(&code), cfg_(&cfg), definitions_(&definitions), known_(&known) {}

  /// The divisions whose remainders are all that changes in a sum that an operation makes, from one execution by a
  /// thread to the next; empty where it hangs on more, or where that is not known.
  std::vector<Division> rests(const ir::Operation&);

 private:
  // constant + sum of factor * register, modulo 2^width.
  struct Form {
    int width = 32;
    std::uint64_t constant = 0;
    std::map<ir::RegisterId, std::uint64_t> parts{};
    bool operator==(const Form&) const = default;

    void add(ir::RegisterId r, std::uint64_t factor);
    void add(std::uint64_t n) { constant = (constant + n) & low_mask(width); }
  };

  bool is_fixed(ir::RegisterId);
  bool are_fixed(const Form&);
  // What was walked past on the way back from a sum, and the divisions that were found.
  struct Walk {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> passed{};  // operations, first and end
    std::vector<Division> rests{};
    bool has_passed(std::span<const std::uint32_t> operations) const;
  };
  bool step_back(Form&, std::uint32_t operation, Walk*);
  bool walk_back(Form&, std::uint32_t end, std::uint32_t begin, Walk*);
  std::optional<BlockId> climb(const Form&, BlockId, Walk&) const;
  bool replace(Form&, const ir::Operation&, std::uint64_t factor) const;
  bool divide(Form&, const ir::Operation&, std::uint64_t factor, Walk&) const;
  bool is_made_here(const ir::Operation&, ir::RegisterId dividend, std::uint32_t first, std::uint32_t last) const;
  bool stays(BlockId, const Form&);

  const ir::Code* code_;
  const Cfg* cfg_;
  const Definitions* definitions_;
  const KnownBits* known_;
  std::map<ir::RegisterId, bool> fixed_{};
};

}  // namespace kiln::flow
