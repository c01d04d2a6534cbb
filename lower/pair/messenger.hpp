// The thread of a CTA that tells the other one of a pair what is to be done and what is done here: commands that
// threads of this CTA have given, commits that the engine has come to, bytes that copies have brought. All of that
// comes after a fence of the cluster, for which no other thread has time. And it puts into the queue what the other CTA
// has written.
#pragma once

#include "lower/code.hpp"
#include "lower/plan/plan.hpp"

namespace kiln::lower {

/// Where the messengers begin: one that does all, or two that share its work.
struct Messengers {
  explicit Messengers(Builder& b) : first(b.label("messenger")), second(b.label("second_messenger")) {}
  JumpTarget first, second;
};

/// Their code, until there are no more commands, commits and copies; then they jump to `done`.
void write_messengers(Builder&, const Plan&, const Messengers&, JumpTarget done);

}  // namespace kiln::lower
