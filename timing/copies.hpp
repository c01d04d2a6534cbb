// Bulk and tensor copies under the clock: rows that the copy engine takes, bytes that come from L2 or HBM and go to an
// SM, bytes that go out. It owns the copies of the instruction that is being issued, and occupies the servers of the SM
// that issues a copy and of those that it goes to.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "sim/core/observer.hpp"
#include "timing/buffers.hpp"
#include "timing/chip.hpp"
#include "timing/sm.hpp"

namespace kiln::timing {

class Copies {
 public:
  /// When a copy has read its source, and when it is complete.
  struct Times {
    double read = 0, done = 0;
  };

  /// `ctas`: of the cluster.
  /// Chip, share and buffers must outlive the copies.
  Copies(const Chip& chip, const Share& share, Buffers& buffers, std::size_t ctas)
      : chip_(chip), share_(share), buffers_(buffers), ctas_(double(ctas)) {}

  /// An instruction is issued. `multicast`: it copies to several CTAs.
  void issue(bool multicast);
  /// An SM issues a copy. A load is announced by that, and arrives where the accesses after it write.
  void transfer(Sm&, const sim::Transfer&, double now);
  bool is_announced() const { return load_.has_value(); }
  /// The load that is announced goes to this SM; when it is complete there.
  double arrive(Sm& to);
  /// The earliest of the instruction's copies that has not been taken.
  std::optional<Times> take();

  /// Bulk copies bring what the cluster reads.
  bool load_any() const { return any_; }

 private:
  // A load whose destination is not known yet.
  struct Load {
    double issued = 0;                 // when
    double cycles = 0;                 // of the copy engine
    double bytes = 0;                  // that come to the SM
    double made = 0;                   // cycles for rows that the tensor does not have
    double split = 0;                  // the part of them in rows that lie in two lines
    double filled = 0;                 // cycles in which L2 takes them from HBM instead of giving
    bool from_shared = false;          // of another CTA
    bool cold = false;                 // from HBM
    std::optional<PartGiven> given{};  // of these bytes, the part that L2 gives, if that is known
    double ctas = 1;                   // that it goes to
  };

  void store(Sm&, const sim::Transfer&, double now);
  void load(Sm&, const sim::Transfer&, double now);
  double apart(const Sm&) const;
  /// `part_of_sms`: that get such rows of the buffer.
  double cycles_of_absent_row(double part_of_sms) const;

  const Chip& chip_;
  const Share& share_;
  Buffers& buffers_;
  double ctas_;
  bool any_ = false;

  // Of the instruction that is being issued.
  bool multicast_ = false;
  std::deque<Times> times_{};
  std::optional<double> engine_end_{};   // of the multicast's first destination
  double hbm_end_ = 0;                   // when HBM has given its part of that
  std::optional<double> cold_{};         // the part that HBM gives
  std::optional<Load> load_{};           // that is announced
  std::vector<sim::Transfer> stored_{};  // boxes that its lanes store
};

}  // namespace kiln::timing
