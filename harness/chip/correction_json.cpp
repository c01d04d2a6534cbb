#include "harness/chip/chip_json.hpp"
#include "harness/json/json_node.hpp"

namespace kiln::harness {
namespace {

using timing::Correction;
using timing::Trait;

constexpr std::size_t most_trees = 10'000;

// Adds a tree, and says where it begins: a number is a leaf, [trait, most, low, high] a question.
std::uint32_t add_tree(Correction& to, const JsonNode& node) {
  const std::size_t at = to.nodes.size();
  to.nodes.emplace_back();
  timing::TreeNode added;
  if (node.json().is_array()) {
    node.each_element(4, 4, [&](std::size_t i, const JsonNode& part) {
      if (i == 0) added.trait = Trait(part.whole(0, timing::trait_count - 1));
      if (i == 1) added.value = part.number();
      if (i == 2) added.low = add_tree(to, part);
      if (i == 3) added.high = add_tree(to, part);
    });
  } else {
    added.value = node.number();
  }
  to.nodes[at] = added;
  return std::uint32_t(at);
}

}  // namespace

Correction read_correction(std::string_view text, const std::string& document) {
  const Json json = parse_json(text, document);
  const JsonNode root(json, document);
  root.expect_object({"gemms", "fitted", "traits", "trees"});
  Correction correction;
  correction.name = root.at("gemms").text();
  root.at("fitted").text();
  root.at("traits").each_element(timing::trait_count, timing::trait_count, [](std::size_t i, const JsonNode& name) {
    if (name.text() != timing::trait_names[i])
      name.fail("must be \"{}\", as in timing/traits.def; got {}", timing::trait_names[i], name.shown());
  });
  root.at("trees").each_element(1, most_trees, [&](std::size_t, const JsonNode& tree) {
    correction.roots.push_back(add_tree(correction, tree));
  });
  return correction;
}

}  // namespace kiln::harness
