// Which roles may use a ring, and what to write where they may not.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dsl/ring_state.hpp"

namespace kiln::dsl {

/// Reports [ring-roles] where the roles of a ring do not fill and read every slot once, and [ring-release] where a role
/// keeps slots. `leaders`: the roles that run in one CTA of a pair alone; `names`: of all roles.
void check_roles(Recorder& r, const RingState& ring, const std::set<const void*>& leaders,
                 const std::vector<std::pair<const void*, std::string>>& names);

}  // namespace kiln::dsl
