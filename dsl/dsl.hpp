// The front door: include this, and nothing else, to write a kernel.
#pragma once

#include "ptx/rules/require.hpp"  // first: compilers print the way to it in front of every broken rule

#include "dsl/builder.hpp"
#include "dsl/entry.hpp"
#include "dsl/kernel.hpp"
#include "dsl/launch.hpp"
#include "dsl/ring.hpp"
#include "dsl/warp.hpp"
#include "dsl/types.hpp"
