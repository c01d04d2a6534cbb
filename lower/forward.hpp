// Copies that signal an mbarrier of the peer: targets without tcgen05 have no such form. The copy signals an mbarrier
// of its own CTA; a thread of this CTA waits for it, and completes the bytes at the peer's.
#pragma once

#include <cstdint>

#include "lower/plan.hpp"
#include "lower/text.hpp"

namespace kiln::lower {

/// Declarations at the kernel's head, and what one thread of the CTA makes of them.
void declare_forwarding(Text&);
void make_forwarding(Text&);

/// Around a copy to the mbarrier %lw_g0: on, where that is this CTA's.
Text branch_if_elsewhere();
/// Behind that copy: what comes before the one that is to bring so many bytes to %lw_g1, in its place.
Text copy_elsewhere(std::uint64_t bytes);
/// Behind both.
Text copied();
/// The last thread of the kernel's own leaves: no more copies.
void leave_forwarding(Text&);
/// The thread that waits for the copies in their order.
void write_forwarder(Text&);

}  // namespace kiln::lower
