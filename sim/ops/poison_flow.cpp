#include "sim/ops/poison_flow.hpp"

#include <algorithm>
#include <initializer_list>

#include "ptx/isa/matrix_move.hpp"
#include "sim/ops/binder.hpp"
#include "sim/ops/float_value.hpp"

namespace kiln::sim {
namespace {

using Kind = ir::Argument::Kind;
using ops::Family;

// Tables of lop3 for operations of one and two sources.
constexpr u8 table_a = 0xF0, table_b = 0xCC;

bool is_any_of(Family f, std::initializer_list<Family> list) { return std::ranges::find(list, f) != list.end(); }

class FlowOf {
 public:
  FlowOf(const Program& program, const ir::Operation& op) : program_(program), code_(*program.code), op_(op) {}

  PoisonFlow make() {
    const Family family = ops::family(op_.opcode);
    for (const ir::RegisterId r : code_.written(op_)) flow_.results.push_back(slot(r));
    flow_.is_hint =
        is_any_of(family, {Family::hint, Family::cache_line, Family::bulk_prefetch, Family::tensor_prefetch});
    switch (family) {
      case Family::unknown:
      case Family::texture: break;
      case Family::arithmetic:
      case Family::bits:
      case Family::compare:
      case Family::select:
      case Family::move:
      case Family::address_view:
      case Family::convert:
      case Family::video: alu(ops::roles<ops::Alu>(op_)); break;
      case Family::launch_query: values({ops::roles<ops::LaunchControl>(op_).response}); break;
      case Family::mbarrier_pending_count: values({ops::roles<ops::Mbarrier>(op_).state}); break;
      case Family::cache_policy: only_registers(PoisonSpread::clean); break;
      case Family::active_mask: only_registers(PoisonSpread::clean); break;
      default: acting(family);
    }
    return std::move(flow_);
  }

 private:
  Slot slot(ir::RegisterId r) const { return {program_.registers[r], register_bytes(code_.registers[r].type), false}; }

  void only_registers(PoisonSpread how) {
    flow_.how = how;
    flow_.only_registers = true;
  }

  void input(const ir::Argument& a) {
    for (const ir::Argument& part : code_.components(a)) input(part);
    if (a.kind == Kind::reg) {
      Slot s = slot(a.id);
      s.negated = a.negated;
      flow_.inputs.push_back({s, 0, true});
    } else if (a.kind == Kind::immediate) {
      flow_.inputs.push_back({{}, u64(a.value), false});
    } else if (code_.components(a).empty()) {
      flow_.inputs.push_back({});
      flow_.has_opaque = true;
    }
  }

  void values(std::initializer_list<ops::Operand> operands) {
    only_registers(PoisonSpread::all);
    for (const ops::Operand& o : operands)
      if (o) input(o);
  }

  void alu(const ops::Alu& x) {
    values({x.a, x.b, x.c, x.e, x.q});
    const isa::Modifiers& m = op_.modifiers;
    flow_.reads_carry = op_.opcode == Opcode::addc || op_.opcode == Opcode::subc || op_.opcode == Opcode::madc;
    flow_.writes_carry = m.carry;
    if (flow_.reads_carry || flow_.writes_carry) return;
    switch (op_.opcode) {
      case Opcode::mov: move(x); break;
      case Opcode::selp:
      case Opcode::slct:
        flow_.how = PoisonSpread::select;
        flow_.by_float = m.types[1] == ScalarType::f32;
        break;
      case Opcode::and_: logic(table_a & table_b); break;
      case Opcode::or_: logic(table_a | table_b); break;
      case Opcode::xor_: logic(table_a ^ table_b); break;
      case Opcode::not_: logic(u8(~table_a)); break;
      case Opcode::lop3:
        if (x.e->kind == Kind::immediate && x.d->kind != Kind::pair) logic(u8(x.e->value));
        break;
      case Opcode::shl: shift(PoisonSpread::shift_left); break;
      case Opcode::shr: shift(PoisonSpread::shift_right); break;
      case Opcode::shf:
        flow_.how = PoisonSpread::funnel;
        flow_.wraps = m.shift_mode == isa::ShiftMode::wrap;
        flow_.to_left = m.direction == isa::Direction::left;
        break;
      case Opcode::prmt:
        flow_.how = PoisonSpread::permute;
        flow_.permutation = m.prmt_mode;
        break;
      case Opcode::bfe: shift(PoisonSpread::extract); break;
      case Opcode::bfi: shift(PoisonSpread::insert); break;
      case Opcode::mul:
      case Opcode::mul24:
      case Opcode::mad:
      case Opcode::mad24: multiplication(m.type()); break;
      case Opcode::cvt: conversion(m.types[0], m.types[1]); break;
      default:
        if (ops::family(op_.opcode) == Family::arithmetic) packed(m.type());
    }
    if (flow_.has_opaque && flow_.how >= PoisonSpread::logic) flow_.how = PoisonSpread::all;
  }

  void move(const ops::Alu& x) {
    const int bits = isa::bits(op_.modifiers.type());
    flow_.how = PoisonSpread::bytes;
    if (x.a->kind == Kind::vector) flow_.how = PoisonSpread::pack, flow_.bits = bits / int(x.a->count);
    if (x.d->kind != Kind::vector) return;
    flow_.how = x.a->kind == Kind::vector ? PoisonSpread::vectors : PoisonSpread::unpack;
    flow_.bits = bits / int(x.d->count);
    parts(x.d);
  }
  // The results of unpack at their places; a sink has none.
  void parts(const ir::Argument& vector) {
    flow_.results.clear();
    for (const ir::Argument& part : code_.components(vector))
      flow_.results.push_back(part.kind == Kind::reg ? slot(part.id) : Slot{~0u, 0, false});
  }

  void logic(u8 table) {
    flow_.table = table;
    flow_.how = op_.modifiers.type() == ScalarType::pred ? PoisonSpread::predicates : PoisonSpread::logic;
  }
  void shift(PoisonSpread how) {
    flow_.how = how;
    flow_.bits = isa::bits(op_.modifiers.type());
    flow_.is_signed = isa::is_signed(op_.modifiers.type());
  }
  void multiplication(ScalarType t) {
    if (isa::is_integer(t))
      flow_.how = PoisonSpread::product;
    else
      packed(t);
  }
  void packed(ScalarType t) {
    const bool halves = half_of(t) != ScalarType::none || t == ScalarType::u16x2 || t == ScalarType::s16x2;
    if (!halves && t != ScalarType::f32x2) return;
    flow_.how = PoisonSpread::elements;
    flow_.bits = halves ? 16 : 32;
  }
  void conversion(ScalarType d, ScalarType s) {
    const bool pair = half_of(d) != ScalarType::none && flow_.inputs.size() == 2;
    if (pair && s == ScalarType::f32) flow_.how = PoisonSpread::join;
    const bool narrows = isa::is_integer(d) && isa::is_integer(s) && !op_.modifiers.sat && isa::bits(d) <= isa::bits(s);
    const bool widens = isa::is_integer(d) && isa::is_integer(s) && !isa::is_signed(s);
    if (narrows || widens) flow_.how = PoisonSpread::extract, flow_.bits = std::min(isa::bits(d), isa::bits(s));
    if (narrows || widens) flow_.inputs.push_back({{}, 0, false}), flow_.inputs.push_back({{}, u64(flow_.bits), false});
    if (narrows) flow_.is_signed = isa::is_signed(d);
  }

  // Registers that an argument names decide something.
  void decide(const ir::Argument& a, std::string_view as, Mask lanes = all_lanes) {
    if (a.kind == Kind::reg) flow_.deciding.push_back({slot(a.id), as, lanes});
    for (const ir::Argument& part : code_.components(a)) decide(part, as, lanes);
  }

  // Instructions that do something beyond their registers: each operand decides, except those that hold what is moved.
  void acting(Family family) {
    const auto role = [&]<class T>(const T&) { return ops::roles<T>(op_); };
    std::vector<const ir::Argument*> moved;
    const auto leave_out = [&](std::initializer_list<ops::Operand> operands) {
      for (const ops::Operand& o : operands) moved.push_back(o.pointer());
    };
    Mask addressing = all_lanes;  // lanes whose address is used
    flow_.how = PoisonSpread::clean;
    switch (family) {
      case Family::load:
      case Family::multimem_load: {
        const auto x = role(ops::MemoryAccess{});
        flow_.only_registers = true;
        leave_out({x.value, x.cache_policy});
        break;
      }
      case Family::store: {
        const auto x = role(ops::MemoryAccess{});
        leave_out({x.value, x.cache_policy});
        break;
      }
      case Family::atomic:
      case Family::reduction: {
        const auto x = role(ops::Atomic{});
        flow_.how = PoisonSpread::none;
        leave_out({x.d, x.b, x.c, x.cache_policy});
        break;
      }
      case Family::async_store: leave_out({role(ops::AsyncStore{}).value}); break;
      case Family::elect:
      case Family::vote:
      case Family::match:
      case Family::warp_reduction:
      case Family::shuffle: {
        const auto x = role(ops::WarpExchange{});
        flow_.how = PoisonSpread::none;
        leave_out({x.d, x.a, x.lane, x.clamp});
        break;
      }
      case Family::barrier_reduction: leave_out({role(ops::Barrier{}).d}); break;
      case Family::mbarrier_arrive: leave_out({role(ops::Mbarrier{}).state}); break;
      case Family::mbarrier_wait: {
        const auto x = role(ops::Mbarrier{});
        leave_out({x.done, x.time_limit});
        break;
      }
      case Family::cp_async: leave_out({role(ops::CpAsync{}).cache_policy}); break;
      case Family::bulk_copy: leave_out({role(ops::BulkCopy{}).cache_policy}); break;
      case Family::tensor_copy: leave_out({role(ops::TensorCopy{}).cache_policy}); break;
      case Family::matrix_load:
      case Family::matrix_store: {
        flow_.how = PoisonSpread::none;
        leave_out({role(ops::MatrixAccess{}).registers});
        const int rows = isa::matrix_rows(op_.modifiers.shape) * isa::repeat_count(op_.modifiers.repeat);
        if (rows < warp_lanes) addressing = (1u << rows) - 1;
        break;
      }
      case Family::wmma_load:
      case Family::wmma_store: flow_.how = PoisonSpread::none, leave_out({role(ops::MatrixAccess{}).registers}); break;
      case Family::matrix_transpose:
        flow_.how = PoisonSpread::none, leave_out({role(ops::Alu{}).d, role(ops::Alu{}).a});
        break;
      case Family::mma_sync: {
        const auto x = role(ops::MmaSync{});
        flow_.how = PoisonSpread::none;
        leave_out({x.d, x.a, x.b, x.c, x.metadata, x.sfa, x.sfb});
        break;
      }
      case Family::wgmma: {
        const auto x = role(ops::Wgmma{});
        flow_.how = PoisonSpread::none;
        leave_out({x.d, x.metadata});
        if (x.a->kind == Kind::vector) leave_out({x.a});
        break;
      }
      case Family::tmem_load:
      case Family::tmem_store: {
        const auto x = role(ops::TmemAccess{});
        flow_.how = PoisonSpread::none;
        leave_out({x.registers, x.reduced});
        break;
      }
      case Family::call: {
        const auto x = role(ops::Call{});
        flow_.how = PoisonSpread::none;
        leave_out({x.results, x.arguments});
        break;
      }
      case Family::stack_allocation:
      case Family::stack_save: leave_out({role(ops::Stack{}).d}); break;
      default: break;
    }
    if (flow_.is_hint) return;
    for (const ir::Argument& a : op_.arguments)
      if (std::ranges::find(moved, &a) == moved.end()) decide(a, name_of(family, a), addressing);
  }

  static std::string_view name_of(Family family, const ir::Argument& a) {
    if (a.kind == Kind::address) return "an address";
    switch (family) {
      case Family::branch_table: return "the index of a branch";
      case Family::call: return "the function that is called";
      case Family::warp_barrier:
      case Family::barrier:
      case Family::barrier_reduction: return "an operand of a barrier";
      case Family::mbarrier_init:
      case Family::mbarrier_arrive:
      case Family::mbarrier_transaction:
      case Family::mbarrier_wait: return "an operand of an mbarrier";
      case Family::tmem_copy:
      case Family::wgmma:
      case Family::mma: return "a descriptor or another operand that says what is multiplied";
      case Family::tensor_map_edit: return "a tensor map";
      case Family::multimem_store: return "what is stored in global memory";
      default: return "an operand that says what is done";
    }
  }

  const Program& program_;
  const ir::Code& code_;
  const ir::Operation& op_;
  PoisonFlow flow_{};
};

}  // namespace

PoisonFlow poison_flow(const Program& program, const ir::Operation& operation) {
  return FlowOf(program, operation).make();
}

}  // namespace kiln::sim
