#include "lower/rewrite.hpp"

#include <algorithm>
#include <unordered_map>

#include "lower/before_hopper.hpp"
#include "lower/cluster.hpp"
#include "lower/columns.hpp"
#include "lower/engine.hpp"
#include "lower/forward.hpp"
#include "lower/older.hpp"
#include "lower/pair.hpp"
#include "lower/queue.hpp"

namespace kiln::lower {
namespace {

using isa::Opcode;
using Kind = ir::Operand::Kind;

class Rewriter {
 public:
  Rewriter(const Facts& f, const Plan& p) : f_(f), p_(p) {
    for (std::uint32_t i = 0; i < f.code.operations.size(); ++i) number_[f.code.operations[i].instruction] = i;
  }

  ir::Function run() {
    ir::Function out = f_.function;
    resize(out);
    std::vector<ir::Statement>& body = out.body->statements;
    Text start;
    for (const auto& [last, batch] : p_.batches)
      for (int w = 0; w < (p_.forms[batch.form].masks_columns ? 5 : 3); ++w)
        start.line(".reg .b32 {};", kept(batch, w));
    start.append(prologue(p_));
    body = statements(start);
    add_all(body, f_.function.body->statements);
    for (ir::Statement& s : statements(epilogue(p_))) body.push_back(std::move(s));
    if (!isa::has(isa::Feature::hopper, f_.options.target)) test_instead_of_trying(body);
    return out;
  }

 private:
  // The directives that count threads count the engine's too. How many registers a thread has follows from that, unless
  // setmaxnreg is to move them.
  void resize(ir::Function& out) const {
    std::erase_if(out.performance, [this](const ir::Performance& d) {
      return d.name == "maxnreg" || d.name == "minnctapersm" || d.name == "maxntid" || d.name == "reqntid" ||
             (d.name == "reqnctapercluster" && !isa::has_clusters(f_.options.target));
    });
    out.performance.push_back({"reqntid", {std::int64_t(p_.cta_threads()), 1, 1}, {}, {}});
    if (p_.engine_registers) out.performance.push_back({"maxnreg", {std::int64_t(p_.first_registers())}, {}, {}});
  }

  void add_all(std::vector<ir::Statement>& to, const std::vector<ir::Statement>& from) {
    for (const ir::Statement& s : from) {
      if (const auto* block = std::get_if<ir::Block>(&s.node)) {
        ir::Block inner{{}, block->at};
        add_all(inner.statements, block->statements);
        to.push_back({std::move(inner)});
      } else if (const auto* instruction = std::get_if<ir::Instruction>(&s.node)) {
        add(to, *instruction);
      } else {
        to.push_back(s);
      }
    }
  }

  void add(std::vector<ir::Statement>& to, const ir::Instruction& i) {
    const std::uint32_t number = number_.at(&i);
    const ir::Operation& op = f_.code.operations[number];
    if (const auto raise = p_.raises.find(number); raise != p_.raises.end()) {
      Text text;
      text.line("setmaxnreg.inc.sync.aligned.u32 {};", raise->second);
      for (ir::Statement& s : statements(text)) to.push_back(std::move(s));
    }
    switch (op.opcode) {
      case Opcode::tcgen05_alloc: return replace(to, i, allocation(op));
      case Opcode::tcgen05_dealloc: return replace(to, i, deallocation(op));
      case Opcode::tcgen05_ld:
      case Opcode::tcgen05_ld_red:
      case Opcode::tcgen05_st: return replace(to, i, tensor_transfer(f_, p_, op));
      case Opcode::tcgen05_mma:
      case Opcode::tcgen05_mma_sp:
      case Opcode::tcgen05_mma_ws:
      case Opcode::tcgen05_mma_ws_sp: return multiply(to, i, number);
      case Opcode::tcgen05_commit: return replace(to, i, commit(number));
      case Opcode::tcgen05_cp: return replace(to, i, copy(number));
      // What these order, the queue and the kernel's own barriers order.
      case Opcode::tcgen05_relinquish_alloc_permit:
      case Opcode::tcgen05_fence_before:
      case Opcode::tcgen05_fence_after:
      // The engine moves registers itself where they must be moved.
      case Opcode::setmaxnreg: return;
      // A warp's loads were one; one of its lanes may say that all are done.
      case Opcode::tcgen05_wait_ld:
      case Opcode::tcgen05_wait_st: return replace(to, i, meeting());
      case Opcode::barrier_cluster_arrive: return replace(to, i, cluster_arrival(op));
      case Opcode::barrier_cluster_wait: return replace(to, i, cluster_wait(op));
      case Opcode::cp_async_bulk_tensor:
        return p_.peer_copies.count(number) ? copy_in_pair(to, i, number) : keep(to, i, op);
      case Opcode::ret:
      case Opcode::exit: return leave(to, i);
      default: return keep(to, i, op);
    }
  }

  void keep(std::vector<ir::Statement>& to, const ir::Instruction& i, const ir::Operation& op) const {
    if (const auto older = older_form(op, f_.options.target)) return replace(to, i, *older);
    to.push_back({adapted(i, op)});
  }

  static void leave(std::vector<ir::Statement>& to, const ir::Instruction& i) {
    ir::Instruction jump;
    jump.guard = i.guard;
    jump.opcode = Opcode::bra;
    jump.operands.push_back(ir::Operand::named("lw_leave"));
    jump.at = i.at;
    to.push_back({std::move(jump)});
  }

  // The same instruction, where the engine's threads do not count and the target has its modifiers.
  ir::Instruction adapted(ir::Instruction i, const ir::Operation& op) const {
    for (ir::Operand& o : i.operands) name_threads(o);
    if (isa::unit(op.opcode) == isa::Unit::barrier && counts_all(op))
      i.operands.insert(i.operands.begin() + (isa::writes(op.opcode) == isa::Writes::first ? 2 : 1),
                        ir::Operand::number(p_.threads));
    std::erase(i.modifiers, "cta_group::1");
    if (!isa::has_clusters(f_.options.target)) say_cta_for_cluster(i);
    return i;
  }

  static bool counts_all(const ir::Operation& op) {
    switch (op.opcode) {
      case Opcode::bar_sync:
      case Opcode::bar_cta_sync:
      case Opcode::barrier_sync:
      case Opcode::barrier_cta_sync: return op.arguments.size() == 1;
      case Opcode::bar_red:
      case Opcode::bar_cta_red:
      case Opcode::barrier_red:
      case Opcode::barrier_cta_red: return op.arguments.size() == 3;
      default: return false;
    }
  }

  void name_threads(ir::Operand& o) const {
    for (ir::Operand& item : o.items) name_threads(item);
    if (o.kind != Kind::name) return;
    if (o.text == "%ntid.x")
      o = ir::Operand::number(p_.threads);
    else if (o.text == "%nwarpid")
      o = ir::Operand::number(p_.threads / 32);
  }

  // A pair's copy, to an mbarrier of this CTA or of the peer.
  void copy_in_pair(std::vector<ir::Statement>& to, const ir::Instruction& i, std::uint32_t number) const {
    ir::Instruction plain = adapted(i, f_.code.operations[number]);
    std::erase(plain.modifiers, "cta_group::2");
    plain.guard.reset();
    Text target;
    target.line(".reg .b32 %lw_g<3>;");
    target.line(".reg .pred %lw_p<1>;");
    if (i.guard) target.line("@{}{} bra lw_copied;", i.guard->negated ? "" : "!", i.guard->predicate);
    move_to(target, "%lw_g0", i.operands[2]);
    ir::Block block{statements(target), i.at};
    const auto add = [&](Text text) {
      for (ir::Statement& s : statements(text)) block.statements.push_back(std::move(s));
    };
    const auto add_copy = [&](const char* mbarrier) {
      plain.operands[2] = ir::Operand::address(ir::Operand::named(mbarrier));
      block.statements.push_back({plain});
    };
    add(branch_if_elsewhere());
    add_copy("%lw_g0");
    add(copy_elsewhere(p_, p_.peer_copies.at(number)));
    add_copy("%lw_g1");
    add(copied());
    to.push_back({std::move(block)});
  }

  static Text meeting() {
    Text out;
    out.line("bar.warp.sync 0xffffffff;");
    return out;
  }

  static void one_lane(Text& out) {
    out.line(".reg .b32 %lw_x<6>;");
    out.line(".reg .pred %lw_p<2>;");
    out.line("mov.u32 %lw_x0, %laneid;");
    out.line("setp.ne.u32 %lw_p0, %lw_x0, 0;");
    out.line("@%lw_p0 bra lw_others;");
  }
  static void all_lanes(Text& out) {
    out.line("lw_others:");
    out.line("bar.warp.sync 0xffffffff;");
  }

  Text allocation(const ir::Operation& op) const {
    const ir::Operand& to = op.instruction->operands[0].items[0];
    Text out;
    one_lane(out);
    move_to(out, "%lw_x0", op.instruction->operands[1]);
    if (p_.is_pair)
      allocate_in_pair(out, p_, "%lw_x0", "%lw_x3");
    else
      take_columns(out, p_, "%lw_x0", "%lw_x3");
    out.line("st{}.b32 [{}{:+}], %lw_x3;", op.modifiers.space() == isa::Space::generic ? "" : ".shared", text(to),
             to.value);
    all_lanes(out);
    return out;
  }

  // By the engine: what it has in registers for these columns is of no use any more.
  Text deallocation(const ir::Operation& op) const {
    Text out;
    one_lane(out);
    move_to(out, "%lw_x1", op.instruction->operands[0]);
    out.line("and.b32 %lw_x1, %lw_x1, 0xffff;");
    move_to(out, "%lw_x2", op.instruction->operands[1]);
    push(out, p_, counted(p_, {std::to_string(unsigned(Command::free) | flag_other | flag_local), "%lw_x1", "%lw_x2"}));
    all_lanes(out);
    return out;
  }

  // Of a matrix descriptor; what is in the upper half is known before.
  static void low_half(Text& out, const ir::Operand& o, const std::string& to) {
    out.line("{{");
    out.line(".reg .b64 %lw_h;");
    out.line("mov.b64 %lw_h, {};", text(o));
    out.line("cvt.u32.u64 {}, %lw_h;", to);
    out.line("}}");
  }

  // The command is given where the last MMA of a batch stands, or the commit that it takes in. What it says is kept
  // from the first on: by then, the registers may have other values, and their names other scopes.
  void multiply(std::vector<ir::Statement>& to, const ir::Instruction& i, std::uint32_t number) const {
    if (const auto assumed = p_.assumptions.find(number); assumed != p_.assumptions.end())
      replace(to, i, checks(assumed->second));
    for (const auto& [last, batch] : p_.batches) {
      const bool is_first = batch.operations.front() == number;
      if (!is_first && batch.given_at() != number) continue;
      Text piece;
      if (is_first) describe(piece, batch);
      if (batch.given_at() == number) give(piece, command(batch, "0"));
      replace(to, i, piece);
    }
  }

  // The engine was made for these values.
  static Text checks(const std::vector<Assumption>& assumptions) {
    Text out;
    out.line(".reg .pred %lw_p<1>;");
    for (const Assumption& a : assumptions) {
      out.line("setp.ne.u32 %lw_p0, {}, 0x{:x};", text(*a.argument->operand), a.value);
      out.line("@%lw_p0 trap;");
    }
    return out;
  }

  // A command that no mbarrier hears of.
  void give(Text& out, const std::vector<std::string>& words) const {
    if (p_.is_pair)
      push_to_pair(out, p_, words, "", "");
    else
      push(out, p_, words);
  }

  static std::string kept(const Batch& batch, int word) {
    return fmt::format("%lw_k{}_{}", batch.operations.front(), word);
  }

  std::vector<std::string> command(const Batch& batch, const std::string& mbarrier) const {
    std::vector<std::string> out{kept(batch, 0), kept(batch, 1), kept(batch, 2), mbarrier};
    for (int w = 3; w < 5 && p_.forms[batch.form].masks_columns; ++w) out.push_back(kept(batch, w));
    return out;
  }

  void describe(Text& out, const Batch& batch) const {
    const ir::MmaOperands mma = *ir::mma_operands(f_.code.operations[batch.operations.front()]);
    const unsigned word = unsigned(Command::first_form) + unsigned(batch.form);
    out.line(".reg .b32 %lw_b;");
    flag(out, kept(batch, 0), batch.commit ? word | flag_commits : word, mma.enable_input_d);
    low_half(out, *mma.b.operand, "%lw_b");
    out.line("shl.b32 %lw_b, %lw_b, {};", start_of_b);
    out.line("or.b32 {0}, {0}, %lw_b;", kept(batch, 0));
    move_to(out, kept(batch, 1), *mma.d.operand);
    if (mma.form.a_in_tmem)
      move_to(out, kept(batch, 2), *mma.a.operand);
    else
      low_half(out, *mma.a.operand, kept(batch, 2));
    if (p_.forms[batch.form].masks_columns) {
      out.line(".reg .b64 %lw_m;");
      out.line("mov.b64 %lw_m, {};", text(*mma.zero_mask->operand));
      out.line("mov.b64 {{{}, {}}}, %lw_m;", kept(batch, 3), kept(batch, 4));
    }
    for (const auto& [column, at] : {std::pair(mma.sfa, start_of_sfa), std::pair(mma.sfb, start_of_sfb),
                                     std::pair(mma.metadata, start_of_metadata)}) {
      if (!column) continue;
      move_to(out, "%lw_b", *column->operand);
      out.line("bfi.b32 {0}, %lw_b, {0}, {1}, {2};", kept(batch, 2), at, tensor_column_bits);
    }
  }

  Text copy(std::uint32_t number) const {
    const std::vector<ir::Operand>& operands = f_.code.operations[number].instruction->operands;
    Text out;
    out.line(".reg .b32 %lw_g<2>;");
    move_to(out, "%lw_g0", operands[0]);
    low_half(out, operands[1], "%lw_g1");
    push(out, p_, {std::to_string(p_.command_of_copy(p_.copied.at(number)) | flag_other), "%lw_g0", "%lw_g1"});
    return out;
  }

  // `word`, and flag_first where a predicate holds.
  static void flag(Text& out, const std::string& to, unsigned word, const ir::Argument* predicate) {
    const ir::Operand* o = predicate ? predicate->operand : nullptr;
    if (!o || o->is_integer()) return out.line("mov.b32 {}, {};", to, o && o->value ? word | flag_first : word);
    unsigned yes = word | flag_first, no = word;
    if (o->negated) std::swap(yes, no);
    out.line("selp.b32 {}, {}, {}, {};", to, yes, no, o->text);
  }

  Text commit(std::uint32_t number) const {
    const ir::Operation& op = f_.code.operations[number];
    const std::vector<ir::Operand>& operands = op.instruction->operands;
    unsigned word = unsigned(Command::commit) | flag_other | flag_commits;
    if (p_.commits.at(number)) word |= flag_first;
    Text out;
    out.line(".reg .b32 %lw_g<2>;");
    if (op.modifiers.space() == isa::Space::generic) {
      const ir::Operand& at = operands[0].items[0];
      out.line(".reg .b64 %lw_h;");
      out.line("mov.b64 %lw_h, {};", text(at));
      if (at.value != 0) out.line("add.s64 %lw_h, %lw_h, {};", at.value);
      out.line("cvta.to.shared{}.u64 %lw_h, %lw_h;", p_.has_clusters ? "::cluster" : "");
      out.line("cvt.u32.u64 %lw_g0, %lw_h;");
    } else {
      move_to(out, "%lw_g0", operands[0]);
    }
    if (operands.size() > 1) {
      word |= flag_multicast;
      if (operands[1].is_integer())
        out.line("mov.b32 %lw_g1, {};", operands[1].value);
      else
        out.line("cvt.u32.u16 %lw_g1, {};", text(operands[1]));
    } else if (p_.is_pair) {
      out.line("getctarank.shared::cluster.u32 %lw_g1, %lw_g0;");
      out.line("shl.b32 %lw_g1, 1, %lw_g1;");
    } else {
      out.line("mov.b32 %lw_g1, 0;");
    }
    const Batch* batch = taken_in_by(number);
    if (p_.is_pair)
      push_to_pair(out, p_, batch ? command(*batch, "0") : std::vector{std::to_string(word)}, "%lw_g0", "%lw_g1");
    else if (batch)
      push(out, p_, command(*batch, "%lw_g0"));
    else
      push(out, p_, {std::to_string(word), "0", "%lw_g1", "%lw_g0"});
    return out;
  }

  const Batch* taken_in_by(std::uint32_t commit) const {
    for (const auto& [last, batch] : p_.batches)
      if (batch.commit == commit) return &batch;
    return nullptr;
  }

  const Facts& f_;
  const Plan& p_;
  std::unordered_map<const ir::Instruction*, std::uint32_t> number_{};
};

}  // namespace

ir::Function rewrite(const Facts& facts, const Plan& plan) { return Rewriter(facts, plan).run(); }

}  // namespace kiln::lower
