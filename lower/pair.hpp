// What two CTAs of a pair do together, by an engine in each: commands that go to both queues, commits that both engines
// have come to, columns that are free in both. A CTA's engine reads its own queue alone. Commands of the peer come by
// mail, a ring that the peer's messenger writes; the own one puts them into the queue.
#pragma once

#include <string>
#include <vector>

#include "lower/plan.hpp"
#include "lower/text.hpp"
#include "ptx/ir/code.hpp"

namespace kiln::lower {

/// Register `to` = the rank of the other CTA of the pair.
void find_peer(Text&, const char* to);

/// Declarations at the kernel's head, and what one thread of the CTA makes of them.
void declare_pair(Text&, const Plan&);
void make_pair_barriers(Text&, const Plan&);

/// A command for the queues of both CTAs: its first three words, and none or an mbarrier and the mask of the CTAs that
/// are to hear of it.
void push_to_pair(Text&, const Plan&, std::vector<std::string> words, const std::string& mbarrier,
                  const std::string& mask);

/// What tcgen05.alloc does, in one thread: the even CTA takes columns that are free in both, and tells the odd one.
/// `columns` is a register, and so is `to`, the result.
void allocate_in_pair(Text&, const Plan&, const std::string& columns, const std::string& to);

/// The last thread of the kernel's own leaves: the peer gets no mail any more, the engine no commands once all has been
/// put in that has come. Falls through for who is to push `quit`, else jumps to `left`.
void leave_pair(Text&, const Plan&, const char* left);

}  // namespace kiln::lower
