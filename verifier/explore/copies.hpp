// Asynchronous copies and stores, and the tensor maps that a kernel makes for them. Without a launch tensor copies
// end late: those that a phase waits for are done when no thread can go on without them, whatever their order. Where
// nothing says how large a copy is, only its first bytes are judged.
#pragma once

#include <map>
#include <optional>

#include "verifier/explore/barriers.hpp"

namespace kiln::verifier::explore {

class Copies {
 public:
  Copies(const Program& program, Findings& findings, Values& values, Memory& memory, Barriers& barriers)
      : program_(program), findings_(findings), values_(values), memory_(memory), barriers_(barriers) {}

  Status execute(const Turn&);
  /// Finishes tensor copies that end late where that lets a phase complete. True when one did. `may_copy`: some thread
  /// waits for a choice and may have another copy to make that a phase waits for; then a phase with copies of unknown
  /// size completes only when it has as many copies as it had before.
  bool finish(State&, bool may_copy);
  /// Tensor copies without a known box that some run has made, in the order in which they were found.
  const std::vector<const ir::Operation*>& unknown() const { return unknown_; }
  /// fence.proxy.tensormap: a release or an acquire of tensor maps that the kernel makes.
  static void fence_map(const Turn&);

 private:
  // The shared memory of a bulk or tensor copy: how much of it, and the box if that is known.
  struct Extent {
    std::optional<Box> box{};
    std::uint32_t bytes = 0;  // from the first byte to the last
    bool is_exact = true;     // false: of a tensor copy without a known box
  };
  Extent extent(const Turn&, int lane);
  enum class End : std::uint8_t { now, late };
  void bring(const Turn&, EventId write, SharedPlace barrier, const Clock& issued, std::optional<std::uint32_t> bytes,
             End = End::now);
  void copy_in(const Turn&, int lane);
  void copy_across(const Turn&, int lane);
  void store(const Turn&, int lane);
  void copy_out(const Turn&, int lane);
  void request(const Turn&, int lane);
  void wait_for_groups(const Turn&);
  void copy_by_threads(const Turn&);
  void wait_for_own_copies(const Turn&);
  void arrive_after_copies(const Turn&);

  void edit_map(const Turn&);
  Status copy_map(const Turn&);
  static void publish_map(const Turn&);
  void use_map(const Turn&, const ir::Argument& tensor);

  const Program& program_;
  Findings& findings_;
  Values& values_;
  Memory& memory_;
  Barriers& barriers_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> copies_a_phase_{};  // by CTA and mbarrier
  std::vector<const ir::Operation*> unknown_{};
};

}  // namespace kiln::verifier::explore
