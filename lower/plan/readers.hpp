// Which commits must write the sums to the image. A ring's slots are freed by commits too, and the threads that wait
// for those read no sum: then the sums stay in registers. Followed are the warps that wait for a commit, in all that
// they do next, and the threads that wait for something that they do: a path from the commit to a thread that reads
// tensor memory counts, if no other commit is on it, since that one decides for itself.
#pragma once

#include "lower/plan/facts.hpp"

namespace kiln::lower {

/// Whether a thread that waits for this commit may read the sums, or what was tensor memory in general; true when it is
/// not known better.
bool is_read_after(const Facts&, std::uint32_t commit);

}  // namespace kiln::lower
