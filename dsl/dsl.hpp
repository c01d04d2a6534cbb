// The front door: include this, and nothing else, to write a kernel.
#pragma once

#include "ptx/rules/require.hpp"  // first: a broken rule is then two includes away from the user's file

#include "dsl/builder.hpp"
#include "dsl/entry.hpp"
#include "dsl/kernel.hpp"
#include "dsl/launch.hpp"
#include "dsl/made_map.hpp"
#include "dsl/math.hpp"
#include "dsl/packed.hpp"
#include "dsl/ring.hpp"
#include "dsl/warp.hpp"
#include "dsl/types.hpp"
#include "dsl/zero_mask.hpp"
