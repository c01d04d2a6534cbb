// Grids that run beside each other: programmatic dependent launches. PTX ISA "griddepcontrol".
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "ptx/isa/spaces.hpp"
#include "ptx/isa/tensor_copy.hpp"
#include "ptx/ops/operations.hpp"
#include "ptx/rules/execution.hpp"
#include "verifier/barrier_object.hpp"
#include "verifier/checks/checks.hpp"
#include "verifier/finding.hpp"

namespace kiln::verifier {
namespace {

using isa::Opcode;

constexpr int deepest_parameter = 32;  // operations between a parameter and an address made of it

// Operations that some path leads to. Of a block they are the last ones.
class Reached {
 public:
  explicit Reached(const Facts& facts)
      : cfg_(facts.cfg), reached_(facts.code.operations.size()), whole_(facts.cfg.blocks.size()) {}

  bool operator[](std::uint32_t operation) const { return reached_[operation]; }
  /// Adds what comes after the operation, and calls f(operation) for each that is new.
  template <class F>
  void add_after(std::uint32_t operation, F f) {
    const auto add = [&](std::uint32_t first, std::uint32_t last) {
      for (std::uint32_t i = first; i < last && !reached_[i]; ++i) reached_[i] = true, f(i);
    };
    std::vector<flow::BlockId> left;
    const auto leave = [&](const flow::BasicBlock& block) {
      for (const std::uint32_t e : block.out) left.push_back(cfg_.edges[e].to);
    };
    const flow::BasicBlock& here = cfg_.blocks[cfg_.block_of(operation)];
    add(operation + 1, here.last);
    leave(here);
    while (!left.empty()) {
      const flow::BlockId b = left.back();
      left.pop_back();
      if (whole_[b]) continue;
      whole_[b] = true;
      add(cfg_.blocks[b].first, cfg_.blocks[b].last);
      leave(cfg_.blocks[b]);
    }
  }

 private:
  const flow::Cfg& cfg_;
  std::vector<bool> reached_, whole_;
};

// A parameter that holds a pointer or a tensor map: its symbol, and the byte at which it begins.
using Pointer = std::pair<std::uint32_t, std::int64_t>;

// A thread that executes it may learn what others of its CTA, or of its cluster, have done.
bool learns(const ir::Operation& op) {
  return isa::unit(op.opcode) == isa::Unit::barrier || op.opcode == Opcode::mbarrier_try_wait ||
         op.opcode == Opcode::mbarrier_test_wait;
}

bool writes(const ir::Operation& op) {
  switch (op.opcode) {
    case Opcode::ld:
    case Opcode::ldu:
    case Opcode::cp_async: return false;
    case Opcode::cp_async_bulk_tensor: return !ops::roles<ops::TensorCopy>(op).loads();
    case Opcode::cp_async_bulk: return op.modifiers.space() == isa::Space::global;
    default: return true;
  }
}

/// The buffers of a launch that the grid before touches, by the pointers to them.
class PriorBuffers {
 public:
  PriorBuffers(const launch::Contract& contract, const launch::Launch& l) {
    for (std::uint32_t i = 0; i < l.params.size(); ++i) add(contract, *l.pdl, {i, 0}, l.params[i]);
  }
  bool touches(const Pointer& p, bool writes) const { return written_.contains(p) || (writes && read_.contains(p)); }

 private:
  void add(const launch::Contract& contract, const launch::PriorGrid& prior, const Pointer& at,
           const launch::Param& p) {
    if (const auto* fields = std::get_if<launch::StructParam>(&p.value))
      for (const launch::StructField& f : fields->fields) add(contract, prior, {at.first, at.second + f.at}, f.value);
    std::string buffer;
    if (const auto* pointer = std::get_if<launch::PointerParam>(&p.value)) buffer = pointer->buffer;
    if (const auto* named = std::get_if<launch::TensorMapParam>(&p.value))
      if (const auto map = contract.tensor_maps.find(named->tensor_map); map != contract.tensor_maps.end())
        buffer = map->second.buffer;
    const auto is_named = [&](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), buffer) != names.end();
    };
    if (is_named(prior.writes)) written_.insert(at);
    if (is_named(prior.reads)) read_.insert(at);
  }

  std::set<Pointer> written_{}, read_{};
};

class Grids {
 public:
  explicit Grids(const Facts& facts) : facts_(facts), code_(facts.code) {
    for (std::uint32_t i = 0; i < code_.operations.size(); ++i) {
      const ir::Operation& op = code_.operations[i];
      if (op.opcode != Opcode::griddepcontrol || !facts.is_formed(op)) continue;
      (op.modifiers.griddep == isa::GridDependency::wait ? waits_ : begins_).push_back(i);
    }
  }

  /// What is certainly executed before any thread can know that the grid before is over, once for each pointer.
  void check(const PriorBuffers* prior, diag::Sink& sink) const {
    if (waits_.empty() && !prior) return;
    const Reached known = informed();
    std::set<Pointer> reported;
    for (std::uint32_t i = 0; i < code_.operations.size(); ++i) {
      const ir::Operation& op = code_.operations[i];
      if (known[i] || !facts_.cfg.reachable(facts_.cfg.block_of(i)) || !facts_.is_formed(op)) continue;
      const auto pointer = accessed(op);
      if (!pointer || reported.contains(*pointer) || (prior && !prior->touches(at(*pointer), writes(op)))) continue;
      reported.insert(*pointer);
      diag::Diagnostic& d =
          broken(sink, rules::pdl_wait(false), {code_, op},
                 fmt::format("an access through {} before any thread can have waited", name(*pointer)));
      if (prior) continue;
      d.severity = diag::Severity::note;
      d.message = "where the grid before writes it: " + d.message;
    }
  }
  void lint() const {
    if (waits_.empty() && begins_.empty()) return;
    Reached later(facts_);
    for (const std::uint32_t begin : begins_) later.add_after(begin, [](std::uint32_t) {});
    check_allocations(later);
    const auto works = [&](const ir::Operation& op) {
      const isa::Unit unit = isa::unit(op.opcode);
      return later[code_.index(op)] && unit != isa::Unit::alu && unit != isa::Unit::control && unit != isa::Unit::warp;
    };
    const bool overlaps = std::any_of(code_.operations.begin(), code_.operations.end(), works);
    judge(facts_.sink, rules::pdl_launch_late(overlaps),
          {code_, code_.operations[begins_.empty() ? waits_[0] : begins_[0]]},
          begins_.empty() ? "a kernel that waits and has none" : "one that nothing but arithmetic follows");
  }

 private:
  // The index of the parameter, and the byte.
  Pointer at(const Pointer& p) const { return {std::uint32_t(code_.symbols[p.first].parameter_index), p.second}; }
  std::string name(const Pointer& p) const {
    const std::string& parameter = code_.symbols[p.first].variable->name;
    return p.second ? fmt::format("byte {} of `{}`", p.second, parameter) : fmt::format("`{}`", parameter);
  }

  // A wait tells the thread that executes it, and those that meet that thread afterwards: by a barrier if such a thread
  // executes one, by an mbarrier if such a thread arrives.
  Reached informed() const {
    Reached known(facts_);
    std::vector<std::uint32_t> at_barriers, at_mbarriers, told = waits_;
    for (std::uint32_t i = 0; i < code_.operations.size(); ++i)
      if (learns(code_.operations[i]) && !comes_before_all_waits(i))
        (isa::unit(code_.operations[i].opcode) == isa::Unit::barrier ? at_barriers : at_mbarriers).push_back(i);
    const auto tell = [&](std::vector<std::uint32_t>& all) {
      told.insert(told.end(), all.begin(), all.end());
      all.clear();
    };
    while (!told.empty()) {
      const std::uint32_t from = told.back();
      told.pop_back();
      known.add_after(from, [&](std::uint32_t i) {
        if (isa::unit(code_.operations[i].opcode) == isa::Unit::barrier) tell(at_barriers);
        if (arrives(code_.operations[i])) tell(at_mbarriers);
      });
    }
    return known;
  }
  // Threads that wait have passed it before.
  bool comes_before_all_waits(std::uint32_t i) const {
    return std::all_of(waits_.begin(), waits_.end(), [&](std::uint32_t wait) {
      const flow::BlockId at = facts_.cfg.block_of(i), then = facts_.cfg.block_of(wait);
      return at == then ? i < wait : facts_.cfg.dominates(at, then);
    });
  }

  // The pointer or tensor map through which an operation accesses global memory.
  std::optional<Pointer> accessed(const ir::Operation& op) const {
    const auto plain = [&](const ir::Argument& address) {
      const isa::Space space = op.modifiers.space();
      return space == isa::Space::global || space == isa::Space::generic ? root(address, false) : std::nullopt;
    };
    if (const auto a = ops::as<ops::MemoryAccess>(op)) return plain(a->address);
    if (const auto a = ops::as<ops::Atomic>(op)) return plain(a->address);
    if (const auto a = ops::as<ops::CpAsync>(op)) return root(a->from, false);
    if (const auto a = ops::as<ops::TensorCopy>(op); a && op.opcode != Opcode::cp_async_bulk_prefetch_tensor)
      return root(code_.components(a->tensor)[0], true);
    if (const auto a = ops::as<ops::BulkCopy>(op); a && isa::is_bulk_copy(op.opcode)) {
      const auto from = root(a->from, false);
      return from ? from : root(a->to, false);
    }
    return std::nullopt;
  }

  // The parameter that holds a pointer, or a tensor map whose address this is.
  std::optional<Pointer> root(const ir::Argument& a, bool is_map, int depth = 0) const {
    const flow::Origin o = facts_.origins.of(a);
    if (o.is(flow::Origin::Base::symbol)) {
      if (!is_map || !code_.symbols[o.id].is_parameter) return std::nullopt;
      return Pointer{o.id, o.exact() ? o.offset() : 0};
    }
    const ir::Argument& base = a.kind == ir::Argument::Kind::address ? code_.components(a)[0] : a;
    const ir::Operation* op = base.kind == ir::Argument::Kind::reg && depth < deepest_parameter
                                  ? facts_.definitions.only_writer(base.id)
                                  : nullptr;
    if (!op) return std::nullopt;
    if (op->opcode == Opcode::ld && isa::is_parameter(op->modifiers.space()))
      return root(ops::roles<ops::MemoryAccess>(*op).address, true, depth + 1);
    const ops::Alu alu = ops::roles<ops::Alu>(*op);
    switch (op->opcode) {
      case Opcode::mov:
      case Opcode::cvt:
      case Opcode::cvta:
      case Opcode::sub: return root(alu.a, is_map, depth + 1);
      case Opcode::mad: return root(alu.c, is_map, depth + 1);
      case Opcode::add: {
        const auto left = root(alu.a, is_map, depth + 1);
        return left ? left : root(alu.b, is_map, depth + 1);
      }
      default: return std::nullopt;
    }
  }

  void check_allocations(const Reached& later) const {
    for (std::uint32_t i = 0; i < code_.operations.size(); ++i)
      if (code_.operations[i].opcode == Opcode::tcgen05_alloc &&
          judge(facts_.sink, rules::pdl_launch_early(!later[i]), {code_, code_.operations[i]}))
        return;
  }

  const Facts& facts_;
  const ir::Code& code_;
  std::vector<std::uint32_t> waits_{}, begins_{};
};

}  // namespace

void check_prior_grid(const Facts& facts, diag::Sink& sink) { Grids(facts).check(nullptr, sink); }

void check_prior_grid(const Facts& facts, const launch::Contract& contract, const launch::Launch& l, diag::Sink& sink) {
  if (!l.pdl) return;
  const PriorBuffers prior(contract, l);
  Grids(facts).check(&prior, sink);
}

void lint_grids(const Facts& facts) { Grids(facts).lint(); }

}  // namespace kiln::verifier
