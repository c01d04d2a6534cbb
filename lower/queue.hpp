// The queue of commands in shared memory: who gives one takes a ticket, waits until its slot is free, writes the words
// and arrives; the engine's warps read them in the order of the tickets.
#pragma once

#include <string>
#include <vector>

#include "lower/plan.hpp"
#include "lower/text.hpp"

namespace kiln::lower {

/// Of the first word of a command. `flag_first`: of MMAs, enable-input-d; of a commit, that sums are to be written.
/// `flag_commits`: the last word is an mbarrier that is waiting for one arrival. `flag_multicast`: of the commands, one
/// for several CTAs. `flag_other`: no MMAs. `flag_local`: of a pair, not for the peer. In the upper half: the start
/// address of B.
inline constexpr unsigned command_mask = 0xff, flag_first = 0x100, flag_multicast = 0x200, flag_commits = 0x400,
                          flag_other = 0x800, flag_local = 0x1000, start_of_b = 16;

/// In the word of A's start address: the columns of tensor memory that have the scales of an MMA with block scaling, or
/// the metadata of a sparse A.
inline constexpr unsigned start_of_sfa = 14, start_of_sfb = 23, start_of_metadata = 23, tensor_column_bits = 9;

/// In a slot: the command's four words, an mbarrier for full and one for empty, how many warps have done it (a word; of
/// a pair an mbarrier), two more words: the zero-column mask of an MMA, or, of a pair's commit, its record and the mask
/// of CTAs. They never meet: pairs have no masks of columns, which only .ws has.
inline constexpr unsigned slot_full = 16, slot_empty = 24, slot_done = 32, slot_more = 40, slot_record = slot_more,
                          slot_mask = slot_more + 4;

/// The first word of the command behind which there are no more; of a pair, of the one behind which there are none for
/// the peer, a commit of which nobody hears.
inline constexpr unsigned quit_command = unsigned(Command::quit) | flag_other | flag_local,
                          close_command = unsigned(Command::commit) | flag_other;

/// The words of a command whose last warp is to know that it is the last: a pair counts them behind the words, since
/// slot_done is an mbarrier there.
std::vector<std::string> counted(const Plan&, std::vector<std::string> words);
/// Where in a slot these warps are counted.
constexpr unsigned slot_count(const Plan& p) { return p.is_pair ? slot_more : slot_done; }

/// Words of a command: 32-bit registers or numbers, at most six. For one thread of whoever is there.
void push(Text&, const Plan&, const std::vector<std::string>& words);

/// Slots in shared memory that are used in turn: the name of the variable, how many there are, the bytes of one.
struct SlotRing {
  const char* name;
  std::uint32_t slots, bytes;
};

/// Registers `slot` and `parity`: where the slot of register `ticket` is, and how often the ring was gone round before,
/// modulo 2.
void find_slot(Text&, const SlotRing&, const char* ticket, const char* slot, const char* parity);

/// The queue, and what the peer of a pair writes for it.
constexpr SlotRing queue_ring(const Plan& p) { return {"lw_queue", p.rings.queue, slot_bytes}; }
constexpr SlotRing mail_ring(const Plan& p) { return {"lw_mail", p.rings.mail, slot_bytes}; }

/// The loop that waits for a phase of the mbarrier so many bytes behind a register's address; with the cluster's scope,
/// also for what its other CTAs have released. The label is the block's own, and so is the predicate %lw_wp.
void wait_for(Text&, const char* slot, unsigned offset, const char* parity, const char* label,
              isa::Scope scope = isa::Scope::cta);

/// Arrives at the mbarrier of register `mbarrier` in each CTA of register `mask`, which holds a one and is zero after
/// that; `semantics` is release or relaxed. Registers %lw_t2 and %lw_t3 and predicate %lw_p0 are overwritten.
void arrive_in_each(Text&, const char* mbarrier, const char* mask, const char* semantics);

}  // namespace kiln::lower
