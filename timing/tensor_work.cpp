#include "timing/tensor_work.hpp"

#include <algorithm>

#include "sim/tensor/wgmma.hpp"

namespace kiln::timing {
namespace {

using enum FactId;

constexpr double clock_reads = 2;     // cycles of a measured latency that are its two reads of the clock
constexpr double wgmma_k_bytes = 32;  // of a column of B, in one wgmma

double taken_from(std::deque<double>& ends) {
  const double end = ends.front();
  ends.pop_front();
  return end;
}

}  // namespace

TensorWork::TensorWork(const Chip& chip, std::vector<Sm>& sms, Record& record, bool values)
    : chip_(chip), sms_(sms), record_(record), values_(values), busy_since_(sms.size()), ends_(sms.size()) {}

void TensorWork::multiply(sim::Cta& cta, const sim::MmaTask& task, double now) {
  const MmaTime t = mma_time(chip_, task.form.kind, task.form.a_in_tmem, task.members(), task.shape.m, task.shape.n);
  Sm& own = sms_[cta.rank];
  Sm* const peer = task.members() == 2 ? &sms_[cta.rank ^ 1] : nullptr;
  const double start = own.tensor.begin(now, peer ? peer->tensor.free() : 0, t);
  if (peer) peer->tensor.block(own.tensor.free(), t.interval);
  add_end(cta.rank, start + t.latency - chip_[wake] - clock_reads);
  record_.show(cta.rank, "tensor core", "MMA", start, start + t.interval);
  busy_since_[cta.rank] = own.tensor.busy_since();
  ++issued_, ++mmas_;
  operations_ += 2.0 * task.shape.m * task.shape.n * task.k();
  guessed_ |= !t.exact || task.form.sparse || task.form.ws;
}

// The unit does its work in time, without the sums.
void TensorWork::leave_out_values(sim::Cta& cta) const {
  if (values_) return;
  auto& waiting = cta.tensor.waiting;
  for (std::size_t k = 0; k < issued_; ++k) waiting[waiting.size() - 1 - k].action = [] {};
}

// A wgmma is over for all warps of its warpgroup when it is over for the first one.
void TensorWork::multiply(const Track& t, const isa::MatrixShape& shape, double bytes, double now) {
  if (!values_) queue_of(*t.cta, t.warp->index).waiting.back().action = [] {};
  if (!t.is_first_of_warpgroup()) return;
  const double interval = wgmma_interval(chip_, shape.n);
  // Each warp's own rows of A, and B, which the warpgroup reads once.
  const double rows = bytes - wgmma_k_bytes * shape.n;
  t.sm->use_operands(chip_, now, bytes + (isa::warps_per_warpgroup - 1) * rows);
  const double end = std::max(t.sm->wgmma_core.end(now, interval), t.sm->operands.free());
  t.sm->wgmma_core.hold(end);
  t.sm->wgmmas.add(end);
  wgmma_ends_[t.number].push_back(end + chip_[wgmma_drain]);
  ++mmas_, operations_ += 2.0 * shape.m * shape.n * shape.k;
  record_.show(t.cta->rank, "tensor core", "wgmma", end - interval, end);
}

void TensorWork::copy(const Track& t, double bytes, double now) {
  TensorPipe& pipe = t.sm->tensor;
  const bool idle = pipe.free() <= now;
  const double busy = bytes / chip_[tmem_copy_rate], start = std::max(now, pipe.free());
  pipe.block(start + busy, busy);
  add_end(t.cta->rank, start + (idle ? chip_[FactId::tmem_copy] - chip_[wake] : busy));
}

// They end in order.
void TensorWork::add_end(std::uint32_t cta, double end) {
  std::deque<double>& ends = ends_[cta];
  ends.push_back(ends.empty() ? end : std::max(end, ends.back()));
}

double TensorWork::take(std::uint32_t cta) { return taken_from(ends_[cta]); }

std::optional<double> TensorWork::take(const Track& t) {
  const std::vector<double>& ends = wgmma_ends_[t.first_of_warpgroup()];
  std::size_t& taken = wgmmas_taken_[t.number];
  return taken < ends.size() ? std::optional(ends[taken++]) : std::nullopt;
}

}  // namespace kiln::timing
