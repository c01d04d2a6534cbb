// Registers that may differ between the lanes of a warp because each lane has loaded a word of its own.
#pragma once

#include <unordered_map>
#include <vector>

#include "ptx/flow/uniformity.hpp"

namespace kiln::flow {

/// What is known of a value in the lanes of one warp. `differs`: by the lane's index, whatever memory holds. `own`:
/// computed from words that the lanes have loaded from addresses of their own, so that only data decides whether it
/// differs. `unclear` covers what goes through shuffles, votes, tensor memory and all that is not followed.
enum class Lanes : std::uint8_t { same, differs, own, unclear };

/// Without a thought for paths: a register is the worst that its writers make of it.
class Loaded {
 public:
  Loaded(const ir::Code&, const Definitions&, const Uniformity&);

  Lanes lanes(ir::RegisterId r);

 private:
  std::vector<ir::RegisterId> slice(ir::RegisterId) const;
  Lanes of(const ir::Argument&) const;
  Lanes of_all(std::span<const ir::Argument>) const;
  Lanes written_by(const ir::Operation&) const;
  Lanes computed(const ir::Operation&) const;

  const ir::Code& code_;
  const Definitions& definitions_;
  const Uniformity& uniformity_;
  std::unordered_map<ir::RegisterId, Lanes> known_{};
};

}  // namespace kiln::flow
