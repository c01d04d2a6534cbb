// Copies that signal an mbarrier of the peer: targets without tcgen05 have no such form. The copy signals an mbarrier
// of its own CTA; the messenger waits for it, and completes the bytes at the peer's.
#pragma once

#include <cstdint>
#include <string>

#include "lower/plan.hpp"
#include "lower/text.hpp"

namespace kiln::lower {

/// Declarations at the kernel's head, and what one thread of the CTA makes of them.
void declare_forwarding(Text&, const Plan&);
void make_forwarding(Text&, const Plan&);

/// Around a copy to the mbarrier %lw_g0: on, where that is this CTA's.
Text branch_if_elsewhere();
/// Behind that copy: what comes before the one that is to bring so many bytes to %lw_g1, in its place.
Text copy_elsewhere(const Plan&, std::uint64_t bytes);
/// Behind both.
Text copied();
/// The last thread of the kernel's own leaves: no more copies.
void leave_forwarding(Text&, const Plan&);
/// In the messenger: the copy of register `ticket`, if it has come, is taken out, and the ticket counted up. `target`
/// and `bytes` are registers, `bytes` 0 where nothing has come; `label` is the block's own. Behind the last one, a bit
/// of %lw_hn is set.
void take_copy(Text&, const Plan&, const char* ticket, const std::string& target, const std::string& bytes,
               const std::string& label);
/// Tells the peer of such a copy.
void forward_copy(Text&, const std::string& target, const std::string& bytes);

}  // namespace kiln::lower
