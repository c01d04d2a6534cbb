// What measured GEMMs of a chip took beside the closed form (timing/estimate): regression trees over what the form
// knows of them. The form says why a strategy is slow, and holds where nothing was measured; its errors depend on many
// things at once, and of strategies that it takes for equal one is often faster.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::timing {

enum class Trait : std::uint8_t {
#define TRAIT(name, what) name,
#include "timing/traits.def"
#undef TRAIT
  count
};

constexpr std::size_t trait_count = std::size_t(Trait::count);

constexpr std::array<std::string_view, trait_count> trait_names{
#define TRAIT(name, what) #name,
#include "timing/traits.def"
#undef TRAIT
};

struct Traits {
  std::array<double, trait_count> values{};
  double& operator[](Trait t) { return values[std::size_t(t)]; }
  double operator[](Trait t) const { return values[std::size_t(t)]; }
};

/// One node of a tree: a question about a trait with two nodes that follow it, or what a leaf adds.
struct TreeNode {
  Trait trait = Trait::count;       // count: a leaf
  double value = 0;                 // a trait of at most so much leads to `low`; of a leaf, what it adds
  std::uint32_t low = 0, high = 0;  // places of nodes
  bool is_leaf() const { return trait == Trait::count; }
};

struct Correction {
  std::string name{};  // of the GPU that was measured
  std::vector<TreeNode> nodes{};
  std::vector<std::uint32_t> roots{};

  /// By how much a launch takes longer than its closed form: e to the sum of what the trees say, above 0.
  double factor(const Traits&) const;
};

}  // namespace kiln::timing
