// The thread of a CTA that tells the other one of a pair what is to be done and what is done here: commands that
// threads of this CTA have given, commits that the engine has come to, bytes that copies have brought. All of that is
// behind a fence of the cluster, for which nobody else has time. And it puts into the queue what the other one has
// written.
#pragma once

#include "lower/plan.hpp"
#include "lower/text.hpp"

namespace kiln::lower {

/// Bits of %lw_hn: what the messenger has seen the end of.
inline constexpr unsigned no_more_commands = 1, no_more_copies = 2, no_more_mail = 4, all_ends = 7;

/// The records of commits that are under way: declarations at the kernel's head, and what one thread makes of them.
void declare_records(Text&, const Plan&);
void make_records(Text&, const Plan&);
/// Register `to`, a number that both CTAs know a commit by which this CTA gives.
void take_record(Text&, const Plan&, const char* to);

/// The code of the messenger, or of two that share its work, until there are no more commands, commits and copies.
void write_messengers(Text&, const Plan&);

}  // namespace kiln::lower
