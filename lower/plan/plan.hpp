// What a kernel needs when it is lowered, and what becomes of each of its tcgen05 instructions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "lower/options.hpp"
#include "lower/plan/form.hpp"
#include "ptx/ir/code.hpp"
#include "ptx/isa/launch_limits.hpp"
#include "ptx/ops/operations.hpp"

namespace kiln::lower {

/// Shared memory of each warp of the engine for what it keeps from one command to the next.
inline constexpr std::uint32_t parked_bytes_of_warp = 24;

/// What a command is about: the first word of it, below its flags.
enum class Command : std::uint8_t { quit, commit, free, first_form };

/// A run of MMAs that become one command. The command is given in the place of the last of them, or of the commit that
/// is part of it.
struct Batch {
  std::vector<std::uint32_t> operations{};
  std::size_t form = 0;                   // Plan::forms
  std::optional<std::uint32_t> commit{};  // always comes right after it, and writes no sums
  std::uint32_t given_at() const { return commit.value_or(operations.back()); }
};

/// What a tcgen05.cp copies from shared memory into the image.
struct Copy {
  isa::DataShape shape = isa::DataShape::none;
  isa::CpMulticast multicast = isa::CpMulticast::none;
  Layout from{};
  bool operator==(const Copy&) const = default;
};

/// A 32-bit operand and the value that the contract's launches give it. The engine is made for that value.
struct Assumption {
  const ir::Argument* argument = nullptr;
  std::uint32_t value = 0;
};

/// Bits of a matrix descriptor for which the engine is made, and which no sum in the kernel should change.
struct LayoutAssumption {
  const ir::Argument* descriptor = nullptr;
  std::uint64_t mask = 0, value = 0;
};

/// Numbers of slots, powers of two: of the queue (the most commands under way), of a pair's mail, of records of one
/// CTA's commits, of forwarded copies. Below: the bytes of shared memory of a slot of the queue or of mail, of a
/// record, of a copy.
struct Rings {
  std::uint32_t queue = 16, mail = 8, records = 8, copies = 16;
};
inline constexpr Rings small_rings{8, 4, 4, 8};
inline constexpr std::uint32_t slot_bytes = 48, record_bytes = 16, copy_bytes = 24;

/// Words beside the queue, and where in a home in global memory they are, after the queue's slots.
enum class Word : std::uint8_t { ticket, exits, columns, meeting };
constexpr std::uint32_t words_of_home = 4;

struct Plan {
  // Threads of a CTA: the original ones, those that serve a pair, those that fill the last warpgroup, the engine's.
  std::uint32_t threads = 0, first_engine_thread = 0, engine_warps = 0;
  std::uint32_t cta_threads() const { return first_engine_thread + engine_warps * 32; }
  std::uint32_t engine_registers = 0, other_registers = 0;  // 0: as many for one as for the other
  std::map<std::uint32_t, std::uint32_t> raises{};          // by operation: what a warpgroup of others gets before it
  std::uint32_t first_registers() const { return isa::registers_to_share(1, cta_threads()); }  // before that

  std::vector<Form> forms{};
  std::vector<Share> shares{};                                       // of the forms, each once
  std::map<std::uint32_t, Batch> batches{};                          // by the last of their MMAs
  std::map<std::uint32_t, std::vector<Assumption>> assumptions{};    // by the MMA, which traps where they do not hold
  std::map<std::uint32_t, std::vector<LayoutAssumption>> layouts{};  // by MMA and copy, which trap likewise
  std::map<std::uint32_t, bool> commits{};                           // and whether sums must be written to the image
  std::vector<Copy> copies{};
  std::map<std::uint32_t, std::size_t> copied{};  // by the tcgen05.cp

  std::uint32_t columns = 0;  // of the image
  Place image = Place::global;
  std::string why{};
  std::uint32_t slots = 0;                              // images in global memory
  std::uint64_t static_shared = 0, dynamic_shared = 0;  // bytes of the lowered kernel, the image included
  std::uint64_t image_offset = 0;                       // of an image in dynamic shared memory
  std::string dynamic_name{};                           // the variable at the start of that; empty: the kernel has none
  bool has_clusters = false;
  bool has_cluster_barrier = false;                      // the kernel's own threads meet by barrier.cluster
  bool arrives_again = false;                            // at barrier.cluster, without a wait between
  bool is_pair = false;                                  // tcgen05 with cta_group::2
  std::map<std::uint32_t, std::uint64_t> peer_copies{};  // with cta_group::2, and the bytes that each brings
  std::uint32_t service_warps = 0;                       // of a pair's messengers: one, or two if that costs nothing
  Rings rings{};
  bool forwards_copies() const { return !peer_copies.empty(); }
  /// All CTAs of a cluster begin together and end together.
  bool meets_in_cluster() const { return is_pair || has_cluster_barrier; }
  // The named barrier that is the engine's own; 0: the kernel may use them all, and the engine's warps count each other
  // in its home.
  int barrier = 15;
  Place home = Place::shared;  // of the queue; in global memory where the kernel leaves no room in shared memory
  /// A form leaves no registers for what the engine keeps from one command to the next.
  bool parks() const { return std::any_of(forms.begin(), forms.end(), is_rolled); }
  std::uint32_t parked_bytes() const { return parks() ? engine_warps * parked_bytes_of_warp : 0; }

  std::size_t share_of(const Form& f) const;
  unsigned command_of_copy(std::size_t copy) const {
    return unsigned(Command::first_form) + unsigned(forms.size() + copy);
  }
  /// Bytes of static shared memory that lowering adds, and how many of them are unused. The padding keeps the distance
  /// of dynamic shared memory from a swizzle's period: kernels without static shared memory rely on a distance of 0,
  /// whatever alignment they ask for.
  std::uint32_t own_shared() const { return home == Place::shared ? used_shared() + queue_padding() : 0; }
  std::uint32_t queue_padding() const { return (1024 - used_shared() % 1024) % 1024; }
  std::uint32_t used_shared() const;
  /// Bytes of a home in global memory.
  std::uint32_t home_bytes() const { return rings.queue * slot_bytes + 4 * words_of_home; }
  std::uint32_t home_offset(Word w) const { return rings.queue * slot_bytes + 4 * std::uint32_t(w); }
  std::uint64_t image_bytes() const { return std::uint64_t(columns) * 512; }
};

}  // namespace kiln::lower
