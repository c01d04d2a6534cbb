// Which threads of a CTA reach an instruction. Conditions on the thread index are evaluated for every thread of the
// CTA, so that it does not matter how a kernel spells "warp 4"; of other conditions nothing is assumed.
#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ptx/flow/cfg.hpp"
#include "ptx/flow/definitions.hpp"
#include "ptx/flow/known_bits.hpp"
#include "ptx/ir/code.hpp"

namespace kiln::flow {

inline constexpr int max_threads = isa::max_threads_per_cta;
inline constexpr int max_warps = max_threads / isa::threads_per_warp;

/// Threads of a CTA by linear index.
using ThreadSet = std::bitset<max_threads>;

/// The threads for which a predicate may be true and may be false; one that depends on more than the thread index is in
/// both. `one_true`: true for at most one thread of each warp, as elect.sync makes it; `one_false` likewise.
struct Truth {
  ThreadSet may_be_true{};
  ThreadSet may_be_false{};
  bool one_true = false;
  bool one_false = false;

  const ThreadSet& may_be(bool value) const { return value ? may_be_true : may_be_false; }
  bool one(bool value) const { return value ? one_true : one_false; }
};

inline Truth opposite(const Truth& a) { return {a.may_be_false, a.may_be_true, a.one_false, a.one_true}; }
inline Truth both(const Truth& a, const Truth& b) {
  return {a.may_be_true & b.may_be_true, a.may_be_false | b.may_be_false, a.one_true || b.one_true, false};
}
inline Truth either(const Truth& a, const Truth& b) { return opposite(both(opposite(a), opposite(b))); }

/// Which threads execute an operation.
enum class Who : std::uint8_t {
  nobody,        // no thread index satisfies the conditions on the way
  one_thread,    // of the CTA
  one_per_warp,  // an elected thread of each of several warps
  one_warp,      // threads of one warp
  several,       // some threads, or all those for which a condition holds that is not known
  whole          // nothing on the way depends on the thread
};

/// Threads that may reach each block of a function. For a kernel without .reqntid or .maxntid the CTA is taken to be as
/// large as it can be, and one-dimensional unless it reads the other thread indices.
class Uniformity {
 public:
  Uniformity(const ir::Code&, const Cfg&, const Definitions&, const KnownBits&);

  /// Threads of the largest CTA that the kernel may be launched with.
  int threads() const { return threads_; }
  int warps() const { return (threads_ + isa::threads_per_warp - 1) / isa::threads_per_warp; }
  /// The kernel says how large its CTA is, or is at most.
  bool is_bounded() const { return is_bounded_; }

  /// Threads that may execute an operation, its guard considered.
  ThreadSet threads_at(std::uint32_t operation) const;
  /// The same as a mask of warp indices.
  std::uint32_t warps_at(std::uint32_t operation) const;
  Who who(std::uint32_t operation) const;
  /// All of threads_at() execute the operation whenever one does: whether they get there does not hang on a condition
  /// that may differ between threads and is not followed.
  bool is_exact(std::uint32_t operation) const;
  /// Whether some thread of the warp may take an edge, or execute a guarded operation, once it is there.
  bool may_take(const Edge&, int warp) const;
  bool may_execute(const ir::Operation&, int warp) const;

  const Truth& truth(ir::RegisterId predicate) const;

  /// Whether an operand that is a function of the thread index alone differs between the threads of some warp; nothing
  /// for other operands.
  std::optional<bool> varies_in_warp(const ir::Argument&) const;

  using Values = std::vector<std::uint64_t>;  // one per thread
  /// An operand's value in each thread, where it is a function of the thread index alone.
  std::optional<Values> by_thread(const ir::Argument&, int width) const;
  /// An operand's value in each thread but for a number that all of the CTA share; nothing where it hangs on more than
  /// the thread.
  std::optional<Values> relative(const ir::Argument&) const;

 private:
  void measure();
  void spread(const Cfg&);
  void find_diverging();
  void find_inexact();
  bool is_followed(const Condition&) const;
  Truth unknown() const { return {all_, all_, false, false}; }
  Truth decide(ir::RegisterId predicate) const;
  Truth compared(const ir::Operation&) const;
  Truth combined(isa::Combine, const Truth&, const Truth&) const;
  Truth of_number(const ir::Argument&, int depth) const;
  Truth argument_truth(const ir::Argument&) const;
  const Values* values(ir::RegisterId r, int depth = 0) const;
  std::unique_ptr<Values> evaluate(const ir::Operation&, int depth) const;
  bool operand(const ir::Argument&, int width, int depth, Values&) const;
  bool special(ir::Special, Values&) const;
  std::optional<Values> relative(const ir::Argument&, int depth) const;

  const ir::Code& code_;
  const Cfg& cfg_;
  const Definitions& definitions_;
  const KnownBits& known_;
  int threads_ = max_threads;
  std::uint64_t extent_x_ = max_threads, extent_y_ = 1;
  bool is_bounded_ = false, shape_is_known_ = true;
  ThreadSet all_;
  std::vector<ThreadSet> reach_;  // by block
  std::vector<bool> single_;      // by block: at most one thread of each warp
  std::vector<bool> diverges_;    // by register: may differ between the threads of a CTA
  std::vector<bool> inexact_;     // by block
  mutable std::unordered_map<ir::RegisterId, std::unique_ptr<Values>> values_;
  mutable std::unordered_map<ir::RegisterId, Truth> truths_;
  mutable int depth_ = 0;  // of truth() within itself
};

}  // namespace kiln::flow
