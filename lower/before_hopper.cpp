#include "lower/before_hopper.hpp"

#include <algorithm>

namespace kiln::lower {
namespace {

using isa::Opcode;
using Kind = ir::Operand::Kind;

const std::vector<ir::Operand>& operands(const ir::Operation& op) { return op.instruction->operands; }

Text line_of(const std::string& text) {
  Text out;
  out.line("{}", text);
  return out;
}

// [%r1+8], a register, a number, or nobody.
std::string written(const ir::Operand& o) {
  if (o.kind == Kind::sink) return "_";
  if (o.kind != Kind::address) return text(o);
  return fmt::format("[{}{:+}]", text(o.items.at(0)), o.items.at(0).value);
}

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
Text tested(const ir::Operation& op) {
  const auto& o = operands(op);
  return line_of(
      fmt::format("{} {}, {}, {};", mbarrier_name(op), written(o.at(0)), written(o.at(1)), written(o.at(2))));
}

// Several arrivals are all but one that complete no phase, since that one is still to come, and that one; as many as a
// register says are as many times one.
Text arrived(const ir::Operation& op) {
  const auto& o = operands(op);
  const std::size_t at = o.at(0).kind == Kind::address ? 0 : 1;
  const std::string name = mbarrier_name(op), mbarrier = written(o.at(at));
  const std::string last = fmt::format("{} {}, {};", name, at ? written(o[0]) : "_", mbarrier);
  Text out;
  if (o.size() > at + 1 && o[at + 1].is_integer() && o[at + 1].value > 1) {
    std::string before(isa::spelling(op.opcode));
    before += ".noComplete" + name.substr(before.size());
    out.line(".reg .b64 %lw_s;");
    out.line("{} %lw_s, {}, {};", before, mbarrier, o[at + 1].value - 1);
  } else if (o.size() > at + 1 && !o[at + 1].is_integer()) {
    out.line(".reg .b32 %lw_n;");
    out.line(".reg .pred %lw_p;");
    out.line("mov.b32 %lw_n, {};", text(o[at + 1]));
    out.line("lw_arrive:");
    out.line("sub.u32 %lw_n, %lw_n, 1;");
    out.line("setp.eq.u32 %lw_p, %lw_n, 0;");
    out.line("@%lw_p bra lw_arrived;");
    out.line("{} _, {};", name, mbarrier);
    out.line("bra lw_arrive;");
    out.line("lw_arrived:");
  }
  out.line("{}", last);
  return out;
}

std::optional<Text> mbarrier(const ir::Operation& op) {
  if (op.modifiers.expect_tx) return std::nullopt;
  switch (op.opcode) {
    case Opcode::mbarrier_try_wait:
    case Opcode::mbarrier_test_wait: return tested(op);
    case Opcode::mbarrier_arrive:
    case Opcode::mbarrier_arrive_drop: return arrived(op);
    default: return std::nullopt;
  }
}

// The lowest lane of the mask, when all of them have come.
Text elected(const ir::Operation& op) {
  const ir::Operand& to = operands(op).at(0);
  Text out;
  out.line(".reg .b32 %lw_e<2>;");
  out.line("mov.b32 %lw_e0, {};", text(operands(op).at(1)));
  out.line("bar.warp.sync %lw_e0;");
  out.line("brev.b32 %lw_e0, %lw_e0;");
  out.line("clz.b32 %lw_e0, %lw_e0;");
  out.line("mov.u32 %lw_e1, %laneid;");
  out.line("setp.eq.u32 {}, %lw_e0, %lw_e1;", text(to.items.at(1)));
  if (to.items[0].kind != Kind::sink) out.line("mov.b32 {}, %lw_e0;", text(to.items[0]));
  return out;
}

// Of proxies there is one. What publishes an mbarrier to the cluster publishes it to the CTA.
Text fence(const ir::Operation& op) {
  const bool orders = op.modifiers.semantics != isa::Semantics::none;
  if (op.opcode == Opcode::fence_proxy && !orders) return Text{};
  return line_of(op.modifiers.semantics == isa::Semantics::sc ? "fence.sc.cta;" : "fence.acq_rel.cta;");
}

// An address in another CTA of the cluster: the only one is this.
Text mapped(const ir::Operation& op) {
  const ir::Operand& from = operands(op).at(1);
  const char* type = isa::bits(op.modifiers.type()) == 64 ? "64" : "32";
  Text out;
  const std::string to = text(operands(op).at(0));
  out.line("mov.b{} {}, {};", type, to, text(from));
  if (from.is_name() && from.value != 0) out.line("add.s{} {}, {}, {};", type, to, to, from.value);
  return out;
}

// Register j of a lane is two elements of a row of matrix j; where the row belongs, lane 8j and on know.
Text stored_matrices(const ir::Operation& op) {
  const ir::Operand& address = operands(op).at(0).items.at(0);
  const ir::Operand& list = operands(op).at(1);
  const std::vector<ir::Operand> values = list.kind == Kind::vector ? list.items : std::vector{list};
  const auto& modifiers = op.instruction->modifiers;
  const bool turns = std::find(modifiers.begin(), modifiers.end(), "trans") != modifiers.end();
  Text out;
  out.line(".reg .b32 %lw_s<5>;");
  out.line("mov.u32 %lw_s0, %laneid;");
  out.line("and.b32 %lw_s1, %lw_s0, 3;");
  out.line("shr.u32 %lw_s0, %lw_s0, 2;");
  if (op.modifiers.space() == isa::Space::generic) {
    out.line(".reg .b64 %lw_h;");
    out.line("cvta.to.shared::cta.u64 %lw_h, {};", text(address));
    out.line("cvt.u32.u64 %lw_s2, %lw_h;");
    if (address.value != 0) out.line("add.s32 %lw_s2, %lw_s2, {};", address.value);
  } else {
    move_to(out, "%lw_s2", address);
  }
  for (std::size_t j = 0; j < values.size(); ++j) {
    if (j) out.line("add.u32 %lw_s0, %lw_s0, 8;");
    out.line("shfl.sync.idx.b32 %lw_s3, %lw_s2, %lw_s0, 31, 0xffffffff;");
    out.line("mad.lo.u32 %lw_s3, %lw_s1, 4, %lw_s3;");
    if (turns) out.line("movmatrix.sync.aligned.m8n8.trans.b16 %lw_s4, {};", text(values[j]));
    out.line("st.shared.b32 [%lw_s3], {};", turns ? "%lw_s4" : text(values[j]));
  }
  return out;
}

// bf16 has a fused product and sum, which is a sum with 1 as a factor, and a product with -0 added: rounded once.
std::optional<Text> fused(const ir::Operation& op) {
  const isa::ScalarType type = op.modifiers.type();
  const bool two = type == isa::ScalarType::bf16x2;
  if (!two && type != isa::ScalarType::bf16) return std::nullopt;
  const unsigned one = 0x3f80, minus_one = 0xbf80, minus_zero = 0x8000;
  const unsigned constant = op.opcode == Opcode::add ? one : op.opcode == Opcode::sub ? minus_one : minus_zero;
  const auto& o = operands(op);
  Text out;
  out.line(".reg .b{} %lw_c;", two ? 32 : 16);
  out.line("mov.b{} %lw_c, {};", two ? 32 : 16, two ? constant << 16 | constant : constant);
  const std::string a = text(o.at(1)), b = text(o.at(2)), c = "%lw_c";
  const std::string inputs = op.opcode == Opcode::add   ? a + ", " + c + ", " + b
                             : op.opcode == Opcode::sub ? b + ", " + c + ", " + a
                                                        : a + ", " + b + ", " + c;
  out.line("fma.rn.{} {}, {};", isa::spelling(type), text(o.at(0)), inputs);
  return out;
}

// What a CTA that is alone in its cluster reads about it.
std::optional<std::string> value_in_one_cta(const std::string& name) {
  if (name.starts_with("%clusterid.")) return "%ctaid" + name.substr(name.find('.'));
  if (name.starts_with("%nclusterid.")) return "%nctaid" + name.substr(name.find('.'));
  if (name == "%cluster_ctarank" || name.starts_with("%cluster_ctaid.") || name == "%is_explicit_cluster") return "0";
  if (name == "%cluster_nctarank" || name.starts_with("%cluster_nctaid.")) return "1";
  return std::nullopt;
}

std::optional<Text> moved(const ir::Operation& op) {
  const auto value = value_in_one_cta(operands(op).at(1).text);
  if (!value) return std::nullopt;
  return line_of(fmt::format("mov.{} {}, {};", isa::spelling(op.modifiers.type()), text(operands(op).at(0)), *value));
}

}  // namespace

std::optional<Text> without_hopper(const ir::Operation& op) {
  if (isa::unit(op.opcode) == isa::Unit::mbarrier) return mbarrier(op);
  switch (op.opcode) {
    case Opcode::add:
    case Opcode::sub:
    case Opcode::mul: return fused(op);
    case Opcode::mov: return moved(op);
    case Opcode::elect_sync: return elected(op);
    case Opcode::fence:
    case Opcode::fence_proxy:
    case Opcode::fence_mbarrier_init: return fence(op);
    case Opcode::mapa: return mapped(op);
    case Opcode::getctarank: return line_of(fmt::format("mov.b32 {}, 0;", text(operands(op).at(0))));
    case Opcode::griddepcontrol: return Text{};  // of a grid that depends on none, and on which none depends
    case Opcode::stmatrix:
      return op.modifiers.shape == isa::DataShape::m8n8 ? std::optional(stored_matrices(op)) : std::nullopt;
    default: return std::nullopt;
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
