#include "lower/earlier/forms.hpp"

#include <algorithm>
#include <optional>

namespace kiln::lower {
namespace {

using isa::Opcode;
using Kind = ir::Operand::Kind;

// An mbarrier is the CTA's own; what is relaxed may be ordered.
std::string mbarrier_name(const ir::Operation& op) {
  const bool waits = op.opcode == Opcode::mbarrier_try_wait || op.opcode == Opcode::mbarrier_test_wait;
  std::string out(isa::spelling(waits ? Opcode::mbarrier_test_wait : op.opcode));
  ir::Instruction own = *op.instruction;
  say_cta_for_cluster(own);
  for (const std::string& m : own.modifiers) out += "." + (m == "relaxed" ? waits ? "acquire" : "release" : m);
  return out;
}

// The time for which a thread would like to wait is the fourth operand at most.
void write_test(Builder& b, const ir::Operation& op) {
  const auto& o = operands(op);
  b.op(mbarrier_name(op), o.at(0), o.at(1), o.at(2));
}

// Several arrivals are all but one that complete no phase, since that one is still to come, and that one; as many as a
// register says are as many times one.
void write_arrival(Builder& b, const ir::Operation& op) {
  const auto& o = operands(op);
  const std::size_t place = o.at(0).kind == Kind::address ? 0 : 1;
  const std::string name = mbarrier_name(op);
  const ir::Operand& mbarrier = o.at(place);
  if (o.size() > place + 1 && o[place + 1].is_integer() && o[place + 1].value > 1) {
    std::string before(isa::spelling(op.opcode));
    before += ".noComplete" + name.substr(before.size());
    b.b64(before, mbarrier, o[place + 1].value - 1);
  } else if (o.size() > place + 1 && !o[place + 1].is_integer()) {
    const Register count = b.b32("mov.b32", without_offset(o[place + 1]));
    const JumpTarget more = b.label("arrive"), last = b.label("arrived");
    b.place(more);
    b.op("sub.u32", count, count, 1);
    b.jump_if(b.pred("setp.eq.u32", count, 0), last);
    b.op(name, "_", mbarrier);
    b.jump(more);
    b.place(last);
  }
  b.op(name, place ? Term(o[0]) : Term("_"), mbarrier);
}

Writer mbarrier(const ir::Operation& op) {
  if (op.modifiers.expect_tx) return nullptr;
  switch (op.opcode) {
    case Opcode::mbarrier_try_wait:
    case Opcode::mbarrier_test_wait: return write_test;
    case Opcode::mbarrier_arrive:
    case Opcode::mbarrier_arrive_drop: return write_arrival;
    default: return nullptr;
  }
}

// The lowest lane of the mask, when all of them have come.
void write_election(Builder& b, const ir::Operation& op) {
  const ir::Operand& to = operands(op).at(0);
  const Register lane = b.b32("mov.b32", without_offset(operands(op).at(1)));
  b.op("bar.warp.sync", lane);
  b.op("brev.b32", lane, lane);
  b.op("clz.b32", lane, lane);
  const Register own = b.b32("mov.u32", "%laneid");
  b.op("setp.eq.u32", without_offset(to.items.at(1)), lane, own);
  if (to.items[0].kind != Kind::sink) b.op("mov.b32", without_offset(to.items[0]), lane);
}

// There is one proxy. What publishes an mbarrier to the cluster publishes it to the CTA.
void write_fence(Builder& b, const ir::Operation& op) {
  if (op.opcode == Opcode::fence_proxy && op.modifiers.semantics == isa::Semantics::none) return;
  b.op(op.modifiers.semantics == isa::Semantics::sc ? "fence.sc.cta" : "fence.acq_rel.cta");
}

// An address in another CTA of the cluster: the only one is this.
void write_own_address(Builder& b, const ir::Operation& op) {
  const ir::Operand& from = operands(op).at(1);
  const bool is_wide = isa::bits(op.modifiers.type()) == 64;
  const ir::Operand to = without_offset(operands(op).at(0));
  b.op(is_wide ? "mov.b64" : "mov.b32", to, without_offset(from));
  if (from.is_name() && from.value != 0) b.op(is_wide ? "add.s64" : "add.s32", to, to, from.value);
}

void write_own_rank(Builder& b, const ir::Operation& op) { b.op("mov.b32", without_offset(operands(op).at(0)), 0); }

// Of a grid that depends on none, and on which none depends.
void write_nothing(Builder&, const ir::Operation&) {}

// Register j of a lane is two elements of a row of matrix j; the lanes from 8j on have the addresses of the rows.
void write_matrices(Builder& b, const ir::Operation& op) {
  const ir::Operand& address = operands(op).at(0).items.at(0);
  const ir::Operand& list = operands(op).at(1);
  const std::vector<ir::Operand> values = list.kind == Kind::vector ? list.items : std::vector{list};
  const auto& modifiers = op.instruction->modifiers;
  const bool transposes = std::find(modifiers.begin(), modifiers.end(), "trans") != modifiers.end();
  const Register row = b.b32("mov.u32", "%laneid"), column = b.b32("and.b32", row, 3);
  b.op("shr.u32", row, row, 2);
  const Register own = b.reg(ScalarType::b32);
  if (op.modifiers.space() == isa::Space::generic) {
    b.op("cvt.u32.u64", own, b.b64("cvta.to.shared::cta.u64", without_offset(address)));
    if (address.value != 0) b.op("add.s32", own, own, address.value);
  } else {
    move_word(b, own, address);
  }
  for (std::size_t j = 0; j < values.size(); ++j) {
    const ir::Operand value = without_offset(values[j]);
    if (j) b.op("add.u32", row, row, 8);
    const Register to = b.b32("shfl.sync.idx.b32", own, row, 31, all_lanes());
    b.op("mad.lo.u32", to, column, 4, to);
    if (transposes)
      b.op("st.shared.b32", at(to), b.b32("movmatrix.sync.aligned.m8n8.trans.b16", value));
    else
      b.op("st.shared.b32", at(to), value);
  }
}

// bf16 has a fused product and sum, which is a sum with 1 as a factor, and a product with -0 added: rounded once.
void write_fused(Builder& b, const ir::Operation& op) {
  const isa::ScalarType type = op.modifiers.type();
  const bool two = type == isa::ScalarType::bf16x2;
  const unsigned one = 0x3f80, minus_one = 0xbf80, minus_zero = 0x8000;
  const unsigned constant = op.opcode == Opcode::add ? one : op.opcode == Opcode::sub ? minus_one : minus_zero;
  const Register c = b.reg(two ? ScalarType::b32 : ScalarType::b16);
  b.op(two ? "mov.b32" : "mov.b16", c, two ? constant << 16 | constant : constant);
  const auto& o = operands(op);
  const ir::Operand to = without_offset(o.at(0)), x = without_offset(o.at(1)), y = without_offset(o.at(2));
  const std::string name = dotted({"fma.rn", isa::spelling(type)});
  if (op.opcode == Opcode::add)
    b.op(name, to, x, c, y);
  else if (op.opcode == Opcode::sub)
    b.op(name, to, y, c, x);
  else
    b.op(name, to, x, y, c);
}

// What a CTA that is alone in its cluster reads about it.
std::optional<std::string> value_in_one_cta(const std::string& name) {
  if (name.starts_with("%clusterid.")) return "%ctaid" + name.substr(name.find('.'));
  if (name.starts_with("%nclusterid.")) return "%nctaid" + name.substr(name.find('.'));
  if (name == "%cluster_ctarank" || name.starts_with("%cluster_ctaid.") || name == "%is_explicit_cluster") return "0";
  if (name == "%cluster_nctarank" || name.starts_with("%cluster_nctaid.")) return "1";
  return std::nullopt;
}

void write_value_in_one_cta(Builder& b, const ir::Operation& op) {
  const std::string value = *value_in_one_cta(operands(op).at(1).text);
  b.op(dotted({"mov", isa::spelling(op.modifiers.type())}), without_offset(operands(op).at(0)),
       value.size() == 1 ? Term(value[0] - '0') : Term(value));
}

}  // namespace

Writer form_before_hopper(const ir::Operation& op) {
  if (isa::unit(op.opcode) == isa::Unit::mbarrier) return mbarrier(op);
  const isa::ScalarType type = op.modifiers.type();
  switch (op.opcode) {
    case Opcode::add:
    case Opcode::sub:
    case Opcode::mul: return type == isa::ScalarType::bf16x2 || type == isa::ScalarType::bf16 ? write_fused : nullptr;
    case Opcode::mov: return value_in_one_cta(operands(op).at(1).text) ? write_value_in_one_cta : nullptr;
    case Opcode::elect_sync: return write_election;
    case Opcode::fence:
    case Opcode::fence_proxy:
    case Opcode::fence_mbarrier_init: return write_fence;
    case Opcode::mapa: return write_own_address;
    case Opcode::getctarank: return write_own_rank;
    case Opcode::griddepcontrol: return write_nothing;
    case Opcode::stmatrix: return op.modifiers.shape == isa::DataShape::m8n8 ? write_matrices : nullptr;
    default: return nullptr;
  }
}

void say_cta_for_cluster(ir::Instruction& i) {
  for (std::string& m : i.modifiers) {
    if (m == "cluster") m = "cta";
    if (m == "shared::cluster") m = "shared::cta";
  }
}

void test_instead_of_trying(std::vector<ir::Statement>& body) {
  for (ir::Statement& s : body) {
    if (auto* block = std::get_if<ir::Block>(&s.node)) test_instead_of_trying(block->statements);
    auto* i = std::get_if<ir::Instruction>(&s.node);
    if (i && i->opcode == Opcode::mbarrier_try_wait) i->opcode = Opcode::mbarrier_test_wait;
  }
}

}  // namespace kiln::lower
