// The front door: include this, and nothing else, to write a kernel.
#pragma once

#include "ptx/rules/require.hpp"  // first: a broken rule is then two includes away from the user's file

// Those with overloads that explain come next, in the order in which they need one another, for the same reason.
#include "dsl/value.hpp"

#include "dsl/registers.hpp"

#include "dsl/memory.hpp"

#include "dsl/mbarrier.hpp"

#include "dsl/atomics.hpp"

#include "dsl/scope.hpp"

#include "dsl/copies.hpp"

#include "dsl/tensor_core.hpp"

#include "dsl/thread.hpp"

#include "dsl/exchange.hpp"

#include "dsl/matrices.hpp"

#include "dsl/ring.hpp"

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
