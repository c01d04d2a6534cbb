// Names of the variables that a lowered kernel has beside its own.
#pragma once

namespace kiln::lower::variable {

// Of every kernel, in shared memory: the queue of commands, the ticket of the next one, how many of the kernel's own
// threads have left, which columns of tensor memory are taken, the number of the image in global memory, and what warps
// of the engine park there, and the mbarrier at which they meet.
inline constexpr const char *queue = "lw_queue", *ticket = "lw_ticket", *exits = "lw_exits", *columns = "lw_columns",
                            *image_number = "lw_slot", *parked = "lw_parked", *engine_meeting = "lw_engine_meeting";
// Of pairs: commands from the peer, records of commits and the ticket of the next one, which of the two sources of
// commands have ended, the lock of allocations and their number, and the columns that the even CTA hands to the odd
// one, with two mbarriers.
inline constexpr const char *mail = "lw_mail", *records = "lw_records", *record_ticket = "lw_record_ticket",
                            *ends = "lw_ends", *alloc_lock = "lw_alloc_lock", *allocs = "lw_allocs",
                            *given = "lw_given", *given_full = "lw_given_full", *given_empty = "lw_given_empty";
// Copies that are forwarded to the peer.
inline constexpr const char *copies = "lw_copies", *copy_ticket = "lw_copy_ticket";
// What replaces barrier.cluster: an mbarrier in each CTA, and the count of threads in CTA 0.
inline constexpr const char *cluster = "lw_cluster", *meeting = "lw_meeting";
// Of the module: an image in dynamic shared memory, or images in global memory and which of them are taken.
inline constexpr const char *dynamic = "lw_dynamic", *memory = "lw_memory", *taken = "lw_taken";
// Homes in global memory, one for an image; and a register of every thread, which has the number of both.
inline constexpr const char *homes = "lw_homes", *home_number = "%lw_home";

}  // namespace kiln::lower::variable
