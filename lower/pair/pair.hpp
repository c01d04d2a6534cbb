// What two CTAs of a pair do together, by an engine in each: commands that go to both queues, commits that both engines
// have come to, columns that are free in both. A CTA's engine reads its own queue alone. Commands of the peer come by
// mail, a ring that the peer's messenger writes; the own messenger puts them into the queue.
#pragma once

#include "lower/engine/queue.hpp"

namespace kiln::lower {

/// Declarations at the kernel's head, and their initial values, which one thread of the CTA writes.
void declare_pair(Builder&, const Plan&);
void make_pair(Builder&, const Plan&);

/// A command for the queues of both CTAs: its first three words, and without an mbarrier up to six.
void push_to_pair(Builder&, const Plan&, Words);
/// The same, and then an arrival at an mbarrier of each CTA of the mask.
void push_to_pair(Builder&, const Plan&, Words, Register mbarrier, Register mask);

/// What tcgen05.alloc does, in one thread: the even CTA takes columns that are free in both, and tells the odd one.
/// `columns` is how many, `to` gets the first.
void allocate_in_pair(Builder&, const Plan&, Register columns, Register to);

/// The last thread of the kernel leaves: the peer gets no more mail, and the engine no commands once all that has come
/// is in the queue. Falls through in the CTA where `quit` is to be pushed now, else jumps to `left`.
void leave_pair(Builder&, const Plan&, JumpTarget left);

}  // namespace kiln::lower
