// The queue of commands in shared memory. A thread that gives a command takes a ticket, waits until its slot is free,
// writes the words and arrives; the engine's warps read commands in the order of the tickets.
#pragma once

#include <vector>

#include "lower/code.hpp"
#include "lower/engine/mbarrier.hpp"
#include "lower/plan/plan.hpp"
#include "lower/variables.hpp"

namespace kiln::lower {

/// Flags in the first word of a command. `flag_first`: of MMAs, enable-input-d; of a commit, sums are to be written.
/// `flag_commits`: the last word is an mbarrier that waits for one arrival. `flag_multicast`: a commit for several
/// CTAs. `flag_other`: no MMAs. `flag_local`: of a pair, not for the peer. The upper half holds the start address of B.
inline constexpr unsigned command_mask = 0xff, flag_first = 0x100, flag_multicast = 0x200, flag_commits = 0x400,
                          flag_other = 0x800, flag_local = 0x1000, start_of_b = 16;

/// In the word of A's start address: the columns of tensor memory that hold the scales of an MMA with block scaling, or
/// the metadata of a sparse A.
inline constexpr unsigned start_of_sfa = 14, start_of_sfb = 23, start_of_metadata = 23, tensor_column_bits = 9;

/// In a slot: the command's four words, an mbarrier for full and one for empty, how many warps have done it (a word; of
/// a pair an mbarrier), two more words: the zero-column mask of an MMA, or, of a pair's commit, its record and the mask
/// of CTAs. A command has one of the two at most: only .ws has masks of columns, and pairs have no .ws.
inline constexpr unsigned slot_full = 16, slot_empty = 24, slot_done = 32, slot_more = 40, slot_record = slot_more,
                          slot_mask = slot_more + 4;

/// The first word of the last command; of a pair, that of the last command for the peer, a commit without an mbarrier.
inline constexpr unsigned quit_command = unsigned(Command::quit) | flag_other | flag_local,
                          close_command = unsigned(Command::commit) | flag_other;

/// Words of a command, registers or numbers: six at most.
using Words = std::vector<Term>;

/// The words of a command that counts the warps that have done it: a pair counts them after the words, since slot_done
/// is an mbarrier there.
Words counted(const Plan&, Words);
/// Where in a slot these warps are counted.
constexpr unsigned slot_count(const Plan& p) { return p.is_pair ? slot_more : slot_done; }

/// Puts a command into the queue; executed by one thread.
void push(Builder&, const Plan&, const Words&);

/// Slots in shared memory that are used in turn: the name of the variable, how many there are, the bytes of one.
struct SlotRing {
  const char* name;
  std::uint32_t slots, bytes;
};

/// Where the slot of a ticket is, and how often the ring was gone round before, modulo 2.
struct Slot {
  Register address, parity;
};
void find_slot(Builder&, const SlotRing&, Register ticket, const Slot& to);
Slot find_slot(Builder&, const SlotRing&, Register ticket);

/// The queue, and the ring that the peer of a pair writes commands to.
constexpr SlotRing queue_ring(const Plan& p) { return {variable::queue, p.rings.queue, slot_bytes}; }
constexpr SlotRing mail_ring(const Plan& p) { return {variable::mail, p.rings.mail, slot_bytes}; }

/// The rank of the other CTA of a pair.
Register find_peer(Builder&);

/// All threads in the cluster, those of the engine too, meet by the hardware's barrier: whole warps.
void meet_in_cluster(Builder&);

}  // namespace kiln::lower
