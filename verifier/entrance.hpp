// Which threads come to a function: all of a launch to a kernel, those that a call lets through to another function.
#pragma once

#include "ptx/diag/diagnostic.hpp"
#include "ptx/flow/uniformity.hpp"

namespace kiln::verifier {

/// Threads that come to a function together.
struct Entrance {
  flow::ThreadSet threads{};
  flow::ThreadSet cta{};      // all threads of their CTA
  bool one_per_warp = false;  // at most one of each warp comes
  bool is_exact = false;      // all of them come when one does
  diag::Where call{};         // no place: a launch, or callers that are not known
};

}  // namespace kiln::verifier
