// Poison: values that come from memory that was never written. They spread from registers to registers, to memory and
// back. Reading them is right as long as nothing depends on them, so a run reports them where they decide something,
// and remembers where they were read first.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/core/lanes.hpp"
#include "sim/core/program.hpp"

namespace kiln::sim {

/// A read that found poison, counted from 1; 0 is none.
using PoisonSource = u32;

/// Lanes that have branched on poison, and what becomes of it where the ways meet: what was written on one of them is
/// poison.
struct PoisonJoin {
  u32 pc = 0;
  Mask lanes = 0;
  const std::vector<Slot>* written = nullptr;
  PoisonSource source = 0;
};

/// Which registers of one warp hold poison: a lane mask for each byte of a register, one for a predicate.
class RegisterPoison {
 public:
  explicit RegisterPoison(u32 file_bytes) : bytes_(file_bytes / unit), sources_(bytes_.size()) {}

  /// The masks of the register at an offset of the file, one after the other.
  Mask* bytes(u32 offset) { return bytes_.data() + offset / unit; }
  /// Lanes of which some byte is poison.
  Mask any(Slot s) const {
    Mask m = 0;
    for (u32 k = 0; k < masks(s); ++k) m |= bytes_[s.offset / unit + k];
    return m;
  }
  /// All bytes of a register, in these lanes.
  void set(Slot s, Mask lanes, Mask poison) {
    Mask* at = bytes(s.offset);
    for (u32 k = 0; k < masks(s); ++k) at[k] = (at[k] & ~lanes) | (poison & lanes);
  }
  /// Where the poison of a register was read: the latest, if lanes differ.
  PoisonSource& source(u32 offset) { return sources_[offset / unit]; }

  static u32 masks(Slot s) { return s.bytes ? s.bytes : 1; }

  /// Whether some byte of an element of `bits`, the one with this number, is poison in a lane.
  bool has_element(u32 offset, int lane, int element, int bits) const {
    const int first = element * bits / 8, end = (element * bits + bits + 7) / 8;
    for (int b = first; b < end; ++b)
      if (bytes_[offset / unit + u32(b)] >> lane & 1) return true;
    return false;
  }

  std::vector<PoisonJoin> joins{};  // that lanes have not reached
  Mask carry = 0;                   // of CC.CF
  PoisonSource carry_source = 0;

 private:
  static constexpr u32 unit = 8;  // bytes of the file: a predicate; every other register has a mask to spare for each
  std::vector<Mask> bytes_;
  std::vector<PoisonSource> sources_;
};

/// The reads that found poison in one launch, and where what was stored of it lies.
class PoisonSources {
 public:
  struct Read {
    const ir::Operation* operation = nullptr;
    std::string what{};  // "4 bytes at offset 0 of `box`"
  };

  /// The read by this operation; what() says what it read and is asked the first time.
  template <class F>
  PoisonSource read(const ir::Operation* operation, F what) {
    const auto [found, fresh] = by_operation_.try_emplace(operation, PoisonSource(reads_.size() + 1));
    if (fresh) reads_.push_back({operation, what()});
    return found->second;
  }
  const Read& operator[](PoisonSource s) const { return reads_[s - 1]; }

  /// The poison that was stored in the 16 bytes around this mark or byte of a memory; 0: these were never written.
  PoisonSource stored(const void* at) const {
    const auto found = stored_.find(line(at));
    return found == stored_.end() ? 0 : found->second;
  }
  void store(const void* at, PoisonSource s) { stored_.insert_or_assign(line(at), s); }
  /// Memories begin anew.
  void forget_memory() { stored_.clear(); }

  /// Whether a read was reported before; from now on it was.
  bool report(PoisonSource s) { return !reported_.insert(s).second; }

 private:
  static std::uintptr_t line(const void* at) { return reinterpret_cast<std::uintptr_t>(at) / 16; }
  std::vector<Read> reads_;
  std::unordered_map<const ir::Operation*, PoisonSource> by_operation_;
  std::unordered_map<std::uintptr_t, PoisonSource> stored_;
  std::set<PoisonSource> reported_;
};

}  // namespace kiln::sim
