// The work of a cluster's tensor cores under the clock: when each MMA, wgmma and copy into tensor memory begins and
// ends. It owns the ends that have not been taken, and occupies the pipes of both SMs of a pair.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ptx/isa/matrix_shape.hpp"
#include "sim/core/machine.hpp"
#include "sim/tensor/task.hpp"
#include "timing/chip.hpp"
#include "timing/record.hpp"
#include "timing/sm.hpp"
#include "timing/warps.hpp"

namespace kiln::timing {

class TensorWork {
 public:
  /// `values`: MMAs compute; else their results are left out. Chip, SMs and record must outlive the work.
  TensorWork(const Chip&, std::vector<Sm>&, Record&, bool values);

  /// An instruction is issued.
  void issue() { issued_ = 0; }
  /// A CTA issues an MMA.
  void multiply(sim::Cta&, const sim::MmaTask&, double now);
  /// It has issued all of the instruction's.
  void leave_out_values(sim::Cta&) const;
  /// A warp has issued a wgmma, of operands in shared memory it reads so many bytes.
  void multiply(const Track&, const isa::MatrixShape&, double bytes, double now);
  /// It copies so many bytes into tensor memory.
  void copy(const Track&, double bytes, double now);

  /// When the earliest MMA or copy of a CTA that has not been taken is done. `cta`: in the cluster.
  double take(std::uint32_t cta);
  /// The same of a warp's wgmmas; nothing while the first warp of its warpgroup has not issued the same one.
  std::optional<double> take(const Track&);
  /// Since when the tensor core had been busy when the CTA's latest MMA was issued.
  double busy_since(std::uint32_t cta) const { return busy_since_[cta]; }

  std::uint64_t mmas() const { return mmas_; }
  double operations() const { return operations_; }  // a multiply-add counting two
  bool guessed() const { return guessed_; }          // an MMA was of a form that was not measured

 private:
  void add_end(std::uint32_t cta, double end);

  const Chip& chip_;
  std::vector<Sm>& sms_;
  Record& record_;
  bool values_;
  std::size_t issued_ = 0;  // MMAs of the instruction
  std::vector<double> busy_since_;
  std::vector<std::deque<double>> ends_;                       // by CTA
  std::map<std::uint32_t, std::vector<double>> wgmma_ends_{};  // by first warp of a warpgroup
  std::map<std::uint32_t, std::size_t> wgmmas_taken_{};        // by warp
  std::uint64_t mmas_ = 0;
  double operations_ = 0;
  bool guessed_ = false;
};

}  // namespace kiln::timing
