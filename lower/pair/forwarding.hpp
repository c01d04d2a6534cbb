// Copies that signal an mbarrier of the peer: targets without tcgen05 have no such form. The copy signals an mbarrier
// of its own CTA; the messenger waits for it, and completes the bytes at the peer's.
#pragma once

#include <cstdint>

#include "lower/code.hpp"
#include "lower/plan/plan.hpp"

namespace kiln::lower {

/// Declarations at the kernel's head, and their initial values, which one thread of the CTA writes.
void declare_forwarding(Builder&, const Plan&);
void make_forwarding(Builder&, const Plan&);

/// The mbarrier of this CTA for a copy of so many bytes that is to signal `target`, an mbarrier of the peer.
Register forwarded(Builder&, const Plan&, Register target, std::uint64_t bytes);
/// Whether an address of shared memory is in another CTA.
Register is_elsewhere(Builder&, Register address);
/// The last thread of the kernel leaves: no more copies.
void end_forwarding(Builder&, const Plan&);

/// A copy that has come, in registers of the messenger; `bytes` is 0 where none has.
struct ForwardedCopy {
  Register target, bytes;
};
/// In the messenger: takes the copy of register `ticket` out, if it has come, and counts the ticket up. After the last
/// one, the bit `last` of `ended` is set.
void take_copy(Builder&, const Plan&, Register ticket, const ForwardedCopy&, Register ended, unsigned last);
/// Tells the peer of such a copy.
void forward_copy(Builder&, const ForwardedCopy&);

}  // namespace kiln::lower
