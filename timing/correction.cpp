#include "timing/correction.hpp"

#include <cmath>

namespace kiln::timing {

double Correction::factor(const Traits& traits) const {
  double sum = 0;
  for (const std::uint32_t root : roots) {
    const TreeNode* node = &nodes[root];
    while (!node->is_leaf()) node = &nodes[traits[node->trait] <= node->value ? node->low : node->high];
    sum += node->value;
  }
  return std::exp(sum);
}

}  // namespace kiln::timing
