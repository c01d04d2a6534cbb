#include "timing/cost.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "ptx/isa/access_bytes.hpp"
#include "ptx/isa/matrix_shape.hpp"
#include "ptx/isa/mma_sync.hpp"
#include "ptx/isa/modifiers.hpp"
#include "ptx/isa/opcodes.hpp"
#include "ptx/isa/targets.hpp"
#include "ptx/isa/tmem.hpp"
#include "ptx/ops/operations.hpp"
#include "ptx/order/access.hpp"
#include "timing/expansion.hpp"

namespace kiln::timing {
namespace {

using enum FactId;
using isa::Opcode;
using isa::Space;

// Wider than a CTA.
bool is_wide(const isa::Modifiers& m) { return m.scope != isa::Scope::none && m.scope != isa::Scope::cta; }

bool is_mma_sync(const ir::Operation& op) { return ops::family(op.opcode) == ops::Family::mma_sync; }

// Bytes of a row of A of an mma.sync whose rate is known: dense, of 16 x 8 sums, with all of the bytes that
// tcgen05.mma takes of a row or with half of them.
std::optional<int> bytes_of_a_row(const ir::Operation& op) {
  using enum isa::ScalarType;
  constexpr std::array measured{f16, bf16, tf32, s8, u8};
  const isa::Modifiers& m = op.modifiers;
  if (op.opcode != Opcode::mma || m.types.count < 2 || m.others.empty()) return std::nullopt;
  const isa::ScalarType a = m.types[1];
  const auto shape = isa::parse_matrix_shape(m.others.front());
  if (std::ranges::find(measured, a) == measured.end() || !shape) return std::nullopt;
  const int bytes = shape->k * isa::bits(a) / 8;
  const bool is_known = bytes == isa::mma_k_bytes || 2 * bytes == isa::mma_k_bytes;
  return is_known && shape->m == isa::mma_sync_m && shape->n == isa::mma_sync_n ? std::optional(bytes) : std::nullopt;
}

// Bytes that a tcgen05.cp moves; a shift moves 32 of each lane.
std::uint16_t copied_bytes(const ir::Operation& op) {
  constexpr int shifted = 32;
  if (op.opcode == Opcode::tcgen05_shift) return isa::tmem_lanes * shifted;
  const isa::CopyShape s = isa::copy_shape(op.modifiers.shape);
  return std::uint16_t(s.rows * s.bytes);
}

// Which of the fetches is one of a tensor map.
bool fetches_map(const ir::Operation& op) {
  const auto& words = op.modifiers.others;
  return std::find(words.begin(), words.end(), "tensormap") != words.end();
}

// Whether L1 keeps what a load brings: unless it says otherwise. PTX ISA "Cache Operators".
bool is_cached(const ir::Operation& op) {
  const isa::CacheOp c = op.modifiers.cache;
  const bool skips = c == isa::CacheOp::cg || c == isa::CacheOp::cv;
  return op.opcode != Opcode::atom && !skips && !order::is_strong(op) &&
         op.modifiers.l1 != isa::L1Eviction::no_allocate;
}

// Takes in what threads of other CTAs have written.
bool acquires_widely(const ir::Operation& op) {
  return is_wide(op.modifiers) && (order::fence_acquires(op) || order::acquires(op.modifiers.semantics));
}

// Hands over to threads of other CTAs what its thread has written: MEMBAR waits until L2 has it.
bool releases_widely(const ir::Operation& op) {
  if (op.opcode == Opcode::barrier_cluster_arrive) return op.modifiers.semantics != isa::Semantics::relaxed;
  return is_wide(op.modifiers) && (order::fence_releases(op) || order::releases(op.modifiers.semantics));
}

bool reads_clock(const ir::Operation& op) {
  return std::any_of(op.arguments.begin(), op.arguments.end(), [](const ir::Argument& a) {
    return a.kind == ir::Argument::Kind::special && ir::tells_time(ir::Special(a.id));
  });
}

// Arithmetic, and loads that order nothing.
bool moves_in_block(const ir::Operation& op) {
  if (isa::ends_block(op.opcode) || reads_clock(op)) return false;
  const bool is_load = op.opcode == Opcode::ld || op.opcode == Opcode::ldu || op.opcode == Opcode::ldmatrix;
  return is_load ? !order::is_strong(op) : isa::unit(op.opcode) == isa::Unit::alu;
}

bool is_load_or_store(Opcode op) {
  switch (op) {
    case Opcode::ld:
    case Opcode::ldu:
    case Opcode::ldmatrix:
    case Opcode::st:
    case Opcode::stmatrix: return true;
    default: return false;
  }
}

bool is_plain_store(const ir::Operation& op) {
  return (op.opcode == Opcode::st || op.opcode == Opcode::stmatrix) && !order::is_strong(op);
}

class Pricing {
 public:
  Pricing(const sim::Program& program, const Chip& chip, std::uint32_t threads)
      : program_(program), code_(*program.code), chip_(chip), threads_(threads) {}

  Cost of(const ir::Operation& op) const {
    Cost c = by_unit(op);
    if (op.guard && has_no_guard(op)) c.past = of_wgmma(branch);
    return c;
  }

  /// From arithmetic to what its result guards.
  float guard() const { return std::max(f(alu_latency), of_wgmma(guard_latency)); }
  float f(FactId id) const { return float(chip_[id]); }

 private:
  Cost by_unit(const ir::Operation& op) const {
    switch (isa::unit(op.opcode)) {
      case isa::Unit::alu:
      case isa::Unit::video: return arithmetic(op);
      case isa::Unit::memory: return memory(op);
      case isa::Unit::warp: return {.latency = f(shared_latency)};
      case isa::Unit::barrier: return barrier(op);
      case isa::Unit::mbarrier: return mbarrier(op);
      case isa::Unit::async_copy: return copy(op);
      case isa::Unit::matrix: return matrix(op);
      case isa::Unit::tcgen05: return tcgen05(op);
      case isa::Unit::control: return {.jump = jump(op)};
      default: return {};
    }
  }

  // What was measured on chips with wgmma alone.
  float of_wgmma(FactId id) const { return chip_.core == TensorCore::wgmma ? f(id) : 0; }

  // ptxas 13.0 puts a few instructions under the guard of the branch that leads past them: each takes its slot then.
  float jump(const ir::Operation& op) const {
    constexpr int most = 6;
    const float taken = of_wgmma(branch);
    if (op.opcode == Opcode::brx_idx) return taken;
    if (op.opcode != Opcode::bra || taken == 0) return 0;
    const std::size_t at = code_.index(op), target = program_.insts[at].target;
    if (target <= at || target > at + 1 + 2 * most) return taken;
    int under_guard = 0;
    for (std::size_t k = at + 1; k < target; ++k) {
      const ir::Operation& between = code_.operations[k];
      if (stays_after_branch(between)) return taken;
      under_guard += instructions_of(between);
    }
    return under_guard > most ? taken : float(under_guard);
  }

  // In SASS atomic operations, fences and bulk copies have no guard but a branch past them.
  static bool has_no_guard(const ir::Operation& op) {
    const ops::Family family = ops::family(op.opcode);
    if (family == ops::Family::bulk_copy || family == ops::Family::tensor_copy) return true;
    return isa::unit(op.opcode) == isa::Unit::memory && !is_load_or_store(op.opcode);
  }

  // A branch past these stays one, and so does one past another branch, an election, or work of the tensor core.
  static bool stays_after_branch(const ir::Operation& op) {
    const isa::Unit u = isa::unit(op.opcode);
    return has_no_guard(op) || op.opcode == Opcode::elect_sync || u == isa::Unit::control || u == isa::Unit::matrix ||
           u == isa::Unit::tcgen05;
  }

  // Those on shared memory bring their address along.
  int instructions_of(const ir::Operation& op) const {
    if (is_name(op)) return 0;
    const bool is_arithmetic = isa::unit(op.opcode) == isa::Unit::alu;
    return !is_arithmetic && is_shared(op.modifiers.space()) ? 2 : 1;
  }

  // A value that gets another name, or a pair of them: ptxas gives both the same registers.
  bool is_name(const ir::Operation& op) const {
    const auto is_register = [](const ir::Argument& a) { return a.kind == ir::Argument::Kind::reg; };
    const auto is_value = [&](const ir::Argument& a) {
      if (a.kind != ir::Argument::Kind::vector) return is_register(a);
      const auto parts = code_.components(a);
      return std::all_of(parts.begin(), parts.end(), is_register);
    };
    return op.opcode == Opcode::mov && std::all_of(op.arguments.begin(), op.arguments.end(), is_value);
  }

  Cost arithmetic(const ir::Operation& op) const {
    if (is_name(op)) return {.slots = 0};
    const Expansion x = expansion_of(op);
    return {.slots = x.instructions,
            .special = x.special * f(special_interval),
            .latency = x.in_special * f(special_latency) + x.steps * f(alu_latency) + x.guards * guard()};
  }

  // Bytes of one lane.
  std::uint16_t access_bytes(const ir::Operation& op) const { return std::uint16_t(isa::access_bytes(op.modifiers)); }

  Cost memory(const ir::Operation& op) const {
    const bool shared = is_shared(op.modifiers.space());
    switch (op.opcode) {
      case Opcode::ld:
      case Opcode::ldu:
      case Opcode::atom: {
        const Space s = op.modifiers.space();
        if (is_parameter(s) || s == Space::constant) return {.latency = f(alu_latency)};
        if (s == Space::local) return {.latency = f(shared_latency)};
        if (shared && op.opcode == Opcode::atom) return shared_atom(op);
        if (shared) return {.does = Does::load_shared, .latency = f(shared_latency), .lane_bytes = access_bytes(op)};
        return {.does = Does::load_global,
                .is_cached = is_cached(op),
                .before = fence_of(op),
                .latency = f(op.opcode == Opcode::atom ? atom_latency : l2_latency),
                .lane_bytes = access_bytes(op)};
      }
      case Opcode::st:
      case Opcode::red:
        if (shared) return {.does = Does::store_shared, .lane_bytes = access_bytes(op)};
        return {.does = Does::store_global, .before = fence_of(op)};
      case Opcode::ldmatrix:
        return {.does = Does::load_shared,
                .latency = std::max(f(shared_latency), of_wgmma(matrix_latency)),
                .lane_bytes = matrix_bytes(op)};
      case Opcode::stmatrix: return {.does = Does::store_shared, .lane_bytes = matrix_bytes(op)};
      case Opcode::fence:
      case Opcode::membar: return {.before = is_wide(op.modifiers) ? f(fence_wide) : 0};
      case Opcode::fence_proxy:
      case Opcode::membar_proxy:
      case Opcode::fence_mbarrier_init: return {.before = f(fence_async)};
      case Opcode::st_async:
      case Opcode::red_async: return {.does = Does::remote};
      case Opcode::prefetch: return {.does = fetches_map(op) ? Does::fetch_map : Does::plain};
      default: return {.latency = f(alu_latency)};
    }
  }

  Cost shared_atom(const ir::Operation& op) const {
    const bool releases = order::releases(op.modifiers.semantics);
    return {.does = Does::load_shared,
            .before = releases ? of_wgmma(shared_atom_release) : 0,
            .latency = std::max(f(shared_latency), of_wgmma(shared_atom_latency)),
            .lane_bytes = access_bytes(op)};
  }

  // An access that releases to other CTAs comes after a fence.
  float fence_of(const ir::Operation& op) const { return releases_widely(op) ? f(fence_wide) : 0; }

  // Each register of a lane is four bytes.
  std::uint16_t matrix_bytes(const ir::Operation& op) const {
    return std::uint16_t(4 * std::max(1, isa::repeat_count(op.modifiers.repeat)));
  }

  Cost barrier(const ir::Operation& op) const {
    const bool relaxed = op.modifiers.semantics == isa::Semantics::relaxed;
    if (op.opcode == Opcode::barrier_cluster_arrive) return {.before = relaxed ? 0 : f(release_cluster)};
    if (op.opcode == Opcode::barrier_cluster_wait) return {.does = Does::meet, .after = f(cluster_barrier)};
    if (ops::family(op.opcode) != ops::Family::barrier && ops::family(op.opcode) != ops::Family::barrier_reduction)
      return {.latency = f(alu_latency)};
    if (order::arrives_alone(op.opcode)) return {.latency = f(alu_latency)};
    const ops::Barrier b = ops::roles<ops::Barrier>(op);
    const bool counted = b.threads && b.threads->kind == ir::Argument::Kind::immediate;
    const float threads = counted ? float(b.threads->value) : float(threads_);
    return {.does = Does::meet, .after = f(bar_sync) + threads * f(bar_sync_thread)};
  }

  Cost mbarrier(const ir::Operation& op) const {
    switch (op.opcode) {
      case Opcode::mbarrier_test_wait:
      case Opcode::mbarrier_try_wait: return {.does = Does::wait_mbarrier};
      case Opcode::mbarrier_arrive:
      case Opcode::mbarrier_arrive_drop:
        return {.before =
                    is_wide(op.modifiers) && op.modifiers.semantics != isa::Semantics::relaxed ? f(release_cluster) : 0,
                .slots = f(mbarrier_arrive),
                .latency = f(shared_latency),
                .beside_wgmma = of_wgmma(arrive_beside_wgmma)};
      case Opcode::mbarrier_pending_count: return {.latency = f(alu_latency)};
      default: return {.slots = f(mbarrier_arrive)};
    }
  }

  Cost copy(const ir::Operation& op) const {
    switch (ops::family(op.opcode)) {
      case ops::Family::bulk_copy:
      case ops::Family::tensor_copy:
        return {.does = Does::copy,
                .multicast = op.modifiers.multicast(),
                .slots = f(copy_slots),
                .beside_wgmma = of_wgmma(op.modifiers.multicast() ? multicast_beside_wgmma : copy_beside_wgmma)};
      case ops::Family::tensor_map_copy: return {.before = f(fence_wide)};  // it releases what it has written
      default: return {};
    }
  }

  Cost matrix(const ir::Operation& op) const {
    if (ops::family(op.opcode) == ops::Family::wgmma) return {.does = Does::wgmma, .slots = f(mma_slots)};
    return is_mma_sync(op) ? mma_sync(op) : Cost{.latency = f(shared_latency)};
  }

  // Dense forms of 16 x 8 sums were measured, with 16 and 32 bytes of a row; others have no model.
  Cost mma_sync(const ir::Operation& op) const {
    const Cost unknown{.does = Does::mma_sync, .latency = f(shared_latency)};
    const auto bytes = bytes_of_a_row(op);
    if (!bytes || chip_.core != TensorCore::wgmma) return unknown;
    const bool half = *bytes == isa::mma_k_bytes / 2;
    return {.product = f(half ? mma_sync_interval_half : mma_sync_interval),
            .latency = f(half ? mma_sync_latency_half : mma_sync_latency)};
  }

  Cost tcgen05(const ir::Operation& op) const {
    const auto registers = [&](const std::vector<ir::RegisterId>& ids) { return std::uint16_t(4 * ids.size()); };
    switch (op.opcode) {
      case Opcode::tcgen05_mma:
      case Opcode::tcgen05_mma_sp:
      case Opcode::tcgen05_mma_ws:
      case Opcode::tcgen05_mma_ws_sp: return {.does = Does::mma, .slots = f(mma_slots)};
      case Opcode::tcgen05_cp:
      case Opcode::tcgen05_shift:
        return {.does = Does::tmem_copy, .slots = f(mma_slots), .lane_bytes = copied_bytes(op)};
      case Opcode::tcgen05_commit: return {.does = Does::commit, .slots = f(commit_busy)};
      case Opcode::tcgen05_ld:
      case Opcode::tcgen05_ld_red: return {.does = Does::tmem_load, .lane_bytes = registers(code_.written(op))};
      case Opcode::tcgen05_st: {
        const ops::TmemAccess x = ops::roles<ops::TmemAccess>(op);
        const std::size_t count =
            x.registers->kind == ir::Argument::Kind::reg ? 1 : code_.components(x.registers).size();
        return {.does = Does::tmem_store, .lane_bytes = std::uint16_t(4 * count)};
      }
      case Opcode::tcgen05_wait_ld: return {.does = Does::wait_tmem_load};
      case Opcode::tcgen05_wait_st: return {.does = Does::wait_tmem_store};
      case Opcode::tcgen05_alloc: return {.after = f(tmem_alloc)};
      default: return {.slots = f(tcgen05_fence)};
    }
  }

  const sim::Program& program_;
  const ir::Code& code_;
  const Chip& chip_;
  std::uint32_t threads_;
};

}  // namespace

Costs::Costs(const sim::Program& program, const Chip& chip, std::uint32_t threads) {
  const ir::Code& code = *program.code;
  const Pricing pricing(program, chip, std::max(threads, std::uint32_t(isa::threads_per_warp)));
  const auto append = [](Registers& to, const std::vector<ir::RegisterId>& ids) {
    to.first.push_back(std::uint32_t(to.ids.size()));
    to.ids.insert(to.ids.end(), ids.begin(), ids.end());
  };
  guard_later_ = pricing.guard() - pricing.f(alu_latency);
  for (const ir::Operation& op : code.operations) {
    Cost& c = costs_.emplace_back(pricing.of(op));
    c.moves = moves_in_block(op), c.orders = !c.moves && !is_plain_store(op);
    c.acquires = acquires_widely(op), c.releases = releases_widely(op);
    append(reads_, code.read(op));
    append(writes_, code.written(op));
  }
  append(reads_, {});
  append(writes_, {});
}

}  // namespace kiln::timing
