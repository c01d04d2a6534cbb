#include "lower/plan/planner.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "lower/code.hpp"
#include "lower/earlier/forms.hpp"
#include "lower/plan/passes.hpp"
#include "ptx/flow/forward.hpp"
#include "ptx/isa/launch_limits.hpp"
#include "ptx/isa/tmem.hpp"

namespace kiln::lower {
namespace {

using isa::Opcode;
using rules::Limit;

// What assert() of CUDA C++ calls when its condition is false. It does not come back.
bool is_failed_assertion(const ir::Operation& op) {
  const auto& operands = op.instruction->operands;
  return op.opcode == Opcode::call && std::any_of(operands.begin(), operands.end(), [](const ir::Operand& o) {
           return o.is_name() && o.text == "__assertfail";
         });
}

std::string no_cluster(isa::Target t) { return fmt::format("a cluster of CTAs for {}", isa::spelling(t)); }

class Planner {
 public:
  explicit Planner(const Facts& f) : f_(f) {}

  std::optional<Plan> run() {
    if (!count_threads()) return std::nullopt;
    bool good = look_around() && has_our_names() && find_peer_copies(f_, p_);
    p_.engine_warps = engine_warps();
    good &= find_forms(f_, p_);
    good &= find_copies(f_, p_);
    if (!good) return std::nullopt;
    if (!place_engine()) return std::nullopt;
    for (auto& [commit, flushes] : p_.commits) flushes = is_read_after(f_, commit);
    for (auto& [last, batch] : p_.batches)
      if (batch.commit && p_.commits.at(*batch.commit)) batch.commit.reset();
    count_columns();
    if (!place_image()) return std::nullopt;
    return std::move(p_);
  }

 private:
  // The contract's CTA, else that of .reqntid.
  bool count_threads() {
    const ir::Performance* required = f_.function.find("reqntid");
    std::vector<std::int64_t> extents = required ? required->values : std::vector<std::int64_t>{};
    for (const launch::Launch* l : f_.launches()) {
      const std::vector<std::int64_t> block{l->block.x, l->block.y, l->block.z};
      if (!required && !extents.empty() && extents != block)
        return f_.refuse(Limit::lower_threads, "launches with CTAs of different sizes");
      extents = block;
    }
    if (extents.empty()) return f_.refuse(Limit::lower_threads, "a kernel without .reqntid, and no contract");
    for (std::size_t i = 1; i < extents.size(); ++i)
      if (extents[i] != 1) return f_.refuse(Limit::lower_threads, "a CTA of more than one dimension");
    p_.threads = std::uint32_t(extents[0]);
    if (p_.threads % 32 != 0) return f_.refuse(Limit::lower_threads, fmt::format("{} threads", p_.threads));
    p_.has_clusters = f_.function.is_for_clusters();
    for (const launch::Launch* l : f_.launches()) p_.has_clusters |= l->cluster.volume() > 1;
    if (isa::has_clusters(f_.options.target)) return true;
    p_.has_clusters = false;
    return check_cluster(f_);
  }

  // Names of ours that the kernel has already.
  bool has_our_names() const {
    const auto ours = [](std::string_view name) {
      return name.starts_with(reserved_prefix) || name.starts_with(std::string("%") + reserved_prefix);
    };
    const ir::Code& c = f_.code;
    const bool found =
        std::any_of(c.registers.begin(), c.registers.end(), [&](const auto& r) { return ours(r.name); }) ||
        std::any_of(c.symbols.begin(), c.symbols.end(), [&](const auto& s) { return ours(s.variable->name); }) ||
        std::any_of(c.labels.begin(), c.labels.end(), [&](const auto& l) { return ours(l.second); });
    return !found || f_.refuse(Limit::lower_unsupported, fmt::format("a name that begins with {}", reserved_prefix));
  }

  // What stands in the way, all of it, and what is to be decided later.
  bool look_around() {
    bool good = true;
    std::uint32_t taken = 0;  // named barriers
    for (std::uint32_t i = 0; i < f_.code.operations.size(); ++i) {
      const ir::Operation& op = f_.code.operations[i];
      if (op.opcode == Opcode::tcgen05_commit) p_.commits[i] = true;
      if (op.opcode == Opcode::barrier_cluster_arrive || op.opcode == Opcode::barrier_cluster_wait)
        p_.has_cluster_barrier = true;
      if (isa::unit(op.opcode) == isa::Unit::barrier && op.opcode != Opcode::barrier_cluster_arrive &&
          op.opcode != Opcode::barrier_cluster_wait)
        taken |= named_barriers_of(f_, op, p_.threads);
      good &= is_modelled(op) && is_of_one_group(op);
    }
    p_.arrives_again = arrives_again();
    while (p_.barrier > 0 && (taken >> p_.barrier & 1)) --p_.barrier;
    return good;
  }

  // Whether a thread may arrive at barrier.cluster twice without a wait between.
  bool arrives_again() const {
    constexpr int not_reached = -1, waited = 0, arrived = 1;
    std::vector<int> states(f_.cfg.blocks.size(), not_reached);
    states[0] = waited;
    bool again = false;
    const auto after = [&](flow::BlockId b, int state) {
      for (std::uint32_t i = f_.cfg.blocks[b].first; i < f_.cfg.blocks[b].last; ++i) {
        const ir::Operation& op = f_.code.operations[i];
        if (op.opcode == Opcode::barrier_cluster_wait && !op.guard) state = waited;
        if (op.opcode != Opcode::barrier_cluster_arrive) continue;
        again |= state == arrived;
        state = arrived;
      }
      return state;
    };
    flow::propagate(f_.cfg, states, after, [](int& into, int from) {
      const bool changes = from > into;
      into = std::max(into, from);
      return changes;
    });
    return again;
  }

  bool is_modelled(const ir::Operation& op) const {
    const auto no = [&](std::string what) { return f_.refuse(Limit::lower_unsupported, std::move(what), op); };
    switch (op.opcode) {
      case Opcode::tcgen05_shift: return no(std::string(isa::spelling(op.opcode)));
      case Opcode::call:
        if (is_failed_assertion(op)) break;
        return no("a call in a kernel that uses tcgen05");
      default: break;
    }
    const std::string missing = missing_for(op, f_.options.target);
    return missing.empty() || f_.refuse(Limit::lower_target, missing, op);
  }

  // All tcgen05 of a kernel must be for one CTA, or all for pairs.
  bool is_of_one_group(const ir::Operation& op) {
    if (isa::unit(op.opcode) != isa::Unit::tcgen05 || op.modifiers.cta_group == isa::CtaGroup::none) return true;
    const bool is_pair = op.modifiers.cta_group == isa::CtaGroup::two;
    if (group_ && *group_ != op.modifiers.cta_group)
      return f_.refuse(Limit::lower_pair, "cta_group::1 and cta_group::2 in one kernel", op);
    group_ = op.modifiers.cta_group;
    p_.is_pair = is_pair;
    if (is_pair && !isa::has_clusters(f_.options.target))
      return f_.refuse(Limit::lower_target, no_cluster(f_.options.target), op);
    p_.has_clusters |= is_pair;
    return true;
  }

  std::uint32_t engine_warps() const {
    int cells = 0;
    for (const ir::Operation& op : f_.code.operations)
      if (const auto mma = ops::as<ops::Mma>(op))
        if (const auto word = f_.assumed(mma->idesc, 32)) {
          const auto d = isa::unpack(std::uint32_t(*word), mma->form.kind);
          cells = std::max(cells, d.m * d.n);
        }
    return cells <= 64 * 64 ? 4 : 8;
  }

  // If an equal share of registers is too small, the engine begins at a warpgroup and gets what it needs; the others
  // get the rest.
  bool place_engine() {
    std::uint32_t need = 64;
    for (const Form& f : p_.forms) need = std::max(need, std::uint32_t(registers_needed(f)));
    if (p_.is_pair) p_.service_warps = whole_warpgroups(p_.threads + 64) == whole_warpgroups(p_.threads + 32) ? 2 : 1;
    p_.first_engine_thread = p_.threads + 32 * p_.service_warps;
    constexpr std::uint32_t plenty = 168;
    if (fits(p_.cta_threads()) && isa::registers_to_share(1, p_.cta_threads()) >= std::max(need, plenty)) return true;
    const bool moves = isa::has(isa::Feature::setmaxnreg, f_.options.target) && !ignores_setmaxnreg();
    if (!moves && fits(p_.cta_threads())) return true;
    p_.first_engine_thread = whole_warpgroups(p_.first_engine_thread);
    if (!fits(p_.cta_threads()))
      return f_.refuse(Limit::lower_threads,
                       fmt::format("{} threads beside {} of the engine", p_.threads, p_.engine_warps * 32));
    share_registers(f_, p_, need);
    return true;
  }

  static constexpr std::uint32_t whole_warpgroups(std::uint32_t threads) { return (threads + 127) / 128 * 128; }

  // Measured with ptxas 13.0: for sm_120a, "'setmaxnreg' ignored to maintain compatibility into 'extern' call" of a
  // kernel with a tensor copy.
  bool ignores_setmaxnreg() const {
    return f_.options.target.sm >= 120 &&
           std::any_of(f_.code.operations.begin(), f_.code.operations.end(), [](const ir::Operation& op) {
             return isa::unit(op.opcode) == isa::Unit::async_copy && op.modifiers.dims != isa::TensorDims::none;
           });
  }

  static bool fits(std::uint32_t threads) { return threads <= std::uint32_t(isa::max_threads_per_cta); }

  // An allocation in a loop may hold all columns; another holds no more than it asks for.
  void count_columns() {
    std::uint64_t columns = 0;
    for (std::uint32_t i = 0; i < f_.code.operations.size(); ++i) {
      const ir::Operation& op = f_.code.operations[i];
      if (op.opcode != Opcode::tcgen05_alloc) continue;
      const auto n = f_.known.constant(ops::roles<ops::TmemAllocation>(op).columns, 32);
      const flow::BlockId b = f_.cfg.block_of(i);
      columns += n && !f_.cfg.reached_from(b)[b] ? *n : isa::tmem_columns;
    }
    p_.columns = std::uint32_t(std::min<std::uint64_t>(columns, isa::tmem_columns));
  }

  // Shared memory is faster, but few kernels leave room in it. The contract gives how much they use.
  bool place_image() {
    measure_shared();
    const std::uint64_t limit = std::uint64_t(isa::max_shared_bytes(f_.options.target));
    if (p_.is_pair && p_.static_shared + p_.dynamic_shared > limit) {
      p_.rings = small_rings;
      measure_shared();
    }
    if (p_.static_shared + p_.dynamic_shared > limit && may_leave_home()) {
      p_.home = Place::global;
      measure_shared();
      if (p_.static_shared + p_.dynamic_shared > limit) p_.home = Place::shared;
      measure_shared();
    }
    const std::uint64_t without = p_.static_shared + p_.dynamic_shared,
                        with = p_.static_shared + image_start() + p_.image_bytes();
    if (without > limit) return f_.refuse(Limit::lower_shared_memory, shared_table(0) + advice(limit));
    if (!static_part_fits()) return false;
    const bool may = f_.options.contract != nullptr && with <= limit;
    if (f_.options.image == Place::shared && !may)
      return f_.refuse(Limit::lower_shared_memory,
                       f_.options.contract ? shared_table(p_.image_bytes()) : "no contract to say how much is used");
    p_.image = may && f_.options.image != Place::global ? Place::shared : Place::global;
    p_.why = f_.options.image != Place::automatic ? "as was asked for"
             : may                                ? "where it fits"
             : f_.options.contract ? fmt::format("since shared memory has no room: {}", shared_table(p_.image_bytes()))
                                   : "since without a contract nobody knows what shared memory has room for";
    if (p_.image == Place::shared) {
      p_.image_offset = image_start();
      p_.dynamic_shared = image_start() + p_.image_bytes();
    } else {
      count_slots();
    }
    return true;
  }

  // Mbarriers that other CTAs reach must be in shared memory, and so must the word that tells where the home is.
  bool may_leave_home() const {
    return f_.options.contract && f_.options.image != Place::shared && !p_.is_pair && !p_.has_cluster_barrier &&
           !p_.parks() && !p_.dynamic_name.empty();
  }

  bool static_part_fits() const {
    const int limit = isa::max_static_shared_bytes(f_.options.target);
    return p_.static_shared <= std::uint64_t(limit) ||
           f_.refuse(Limit::lower_shared_memory,
                     fmt::format("{} of {} bytes that are not dynamic: {} of the kernel's variables, {} of the queue",
                                 p_.static_shared, limit, kernel_shared_, p_.own_shared()));
  }

  std::uint64_t image_start() const { return (p_.dynamic_shared + 1023) / 1024 * 1024; }

  void measure_shared() {
    std::uint64_t at = 0;
    for (const ir::Symbol& s : f_.code.symbols) {
      if (s.variable->space != isa::Space::shared && s.variable->space != isa::Space::shared_cta) continue;
      if (s.variable->linkage == ir::Linkage::external) {
        p_.dynamic_name = s.variable->name;
        continue;
      }
      const std::uint64_t alignment = s.variable->alignment();
      at = (at + alignment - 1) / alignment * alignment + s.variable->bytes();
    }
    kernel_shared_ = at;
    // Dynamic shared memory begins at a multiple of its variable's alignment, 1024 as a rule.
    p_.static_shared = (at + p_.own_shared() + 1023) / 1024 * 1024;
    for (const launch::Launch* l : f_.launches())
      p_.dynamic_shared = std::max<std::uint64_t>(p_.dynamic_shared, l->dynamic_smem);
  }

  // Hosts ask for all that there is, whatever the kernel uses.
  std::string advice(std::uint64_t limit) const {
    if (!f_.options.contract || kernel_shared_ + p_.dynamic_shared > limit) return {};
    return fmt::format(
        "; if the kernel uses at most {} bytes of the dynamic ones, say so in the contract (dynamic_smem): kiln sim "
        "then shows whether it does",
        limit - p_.static_shared);
  }

  std::string shared_table(std::uint64_t image) const {
    std::string out =
        fmt::format("{} of {} bytes: {} dynamic, {} of the kernel's variables, {} of the queue",
                    p_.static_shared + p_.dynamic_shared + image, isa::max_shared_bytes(f_.options.target),
                    p_.dynamic_shared, kernel_shared_, p_.own_shared());
    if (image) out += fmt::format(", {} of {} columns of tensor memory", image, p_.columns);
    return out;
  }

  // At most this many CTAs run at a time; a CTA that finds no free image waits for one.
  void count_slots() {
    const std::uint64_t multiprocessors = f_.options.target.sm >= 120 ? 192 : 144;
    const std::uint64_t on_one = std::max<std::uint64_t>(1, isa::sm_threads(f_.options.target) / p_.cta_threads());
    std::uint64_t slots = multiprocessors * (p_.engine_registers ? 1 : on_one);
    std::uint64_t ctas = 0;
    for (const launch::Launch* l : f_.launches()) ctas = std::max(ctas, l->grid.volume());
    if (ctas != 0) slots = std::min(slots, ctas);
    p_.slots = std::uint32_t(slots);
  }

  const Facts& f_;
  std::uint64_t kernel_shared_ = 0;  // bytes of its own variables
  std::optional<isa::CtaGroup> group_{};
  Plan p_{};
};

}  // namespace

bool check_cluster(const Facts& f) {
  const isa::Target target = f.options.target;
  return isa::has_clusters(target) || !f.may_have_peers() || f.refuse(Limit::lower_target, no_cluster(target));
}

std::optional<Plan> plan(const Facts& facts) { return Planner(facts).run(); }

}  // namespace kiln::lower
