#include "dsl/entry.hpp"

#include <string>

namespace kiln::dsl {

Sizes standard_sizes(const Entry& entry) {
  Sizes sizes;
  for (const SizeOption& option : entry.sizes) sizes[std::string(option.name)] = option.standard;
  return sizes;
}

Sizes with_strategy(const Entry& entry, Sizes sizes) {
  if (!entry.strategy) return sizes;
  for (const auto& [option, value] : entry.strategy(sizes)) sizes[std::string(option)] = value;
  return sizes;
}

}  // namespace kiln::dsl
