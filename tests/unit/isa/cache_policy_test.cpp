// Cache policies, against the words of others: CCCL's cuda/std/detail/__access_property and the SASS that ptxas 13.0
// makes of createpolicy.fractional.
#include "ptx/isa/cache_policy.hpp"

#include <doctest/doctest.h>

namespace kiln::isa {
namespace {

TEST_CASE("a policy by name is the word that createpolicy makes of that priority for a whole access") {
  CHECK(pack({L2Eviction::evict_unchanged}) == 0x10F0000000000000);
  CHECK(pack({L2Eviction::evict_first}) == 0x12F0000000000000);
  CHECK(pack({L2Eviction::evict_last}) == 0x14F0000000000000);
  CHECK(pack({L2Eviction::evict_normal}) == 0x16F0000000000000);
}

TEST_CASE("a policy for half of an access says 7, and what becomes of the other half") {
  CHECK(pack({.primary = L2Eviction::evict_last, .sixteenths = 8}) == 0x1470000000000000);
  CHECK(pack({L2Eviction::evict_last, L2Eviction::evict_first, 8}) == 0x1570000000000000);
}

}  // namespace
}  // namespace kiln::isa
