#include "lower/rewrite/rewrite.hpp"

#include <algorithm>
#include <unordered_map>

#include "lower/earlier/forms.hpp"
#include "lower/engine/columns.hpp"
#include "lower/engine/queue.hpp"
#include "lower/pair/forwarding.hpp"
#include "lower/pair/pair.hpp"
#include "lower/rewrite/frame.hpp"
#include "lower/rewrite/tensor_transfer.hpp"

namespace kiln::lower {
namespace {

using isa::Opcode;
using Kind = ir::Operand::Kind;

class Rewriter {
 public:
  Rewriter(const Facts& f, const Plan& p) : f_(f), p_(p) {
    for (std::uint32_t i = 0; i < f.code.operations.size(); ++i) number_[f.code.operations[i].instruction] = i;
    for (const auto& [last, batch] : p.batches)
      kept_[last] = b_.regs(ScalarType::b32, p.forms[batch.form].masks_columns ? 5 : 3);
  }

  ir::Function run() {
    ir::Function out = f_.function;
    resize(out);
    frame_.begin();
    b_.copy(f_.function.body->statements, [this](const ir::Instruction& i) { add(i); });
    frame_.end();
    std::vector<ir::Statement>& body = out.body->statements;
    body = b_.take();
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

  // What `write` writes stands in the place of an instruction, under its guard.
  template <class Write>
  void in_place_of(const ir::Instruction& i, Write write) {
    b_.under(i.guard, write);
  }

  void add(const ir::Instruction& i) {
    const std::uint32_t number = number_.at(&i);
    const ir::Operation& op = f_.code.operations[number];
    if (const auto raise = p_.raises.find(number); raise != p_.raises.end())
      b_.op("setmaxnreg.inc.sync.aligned.u32", raise->second);
    switch (op.opcode) {
      case Opcode::tcgen05_alloc: return in_place_of(i, [&] { allocate(op); });
      case Opcode::tcgen05_dealloc: return in_place_of(i, [&] { deallocate(op); });
      case Opcode::tcgen05_ld:
      case Opcode::tcgen05_ld_red:
      case Opcode::tcgen05_st: return in_place_of(i, [&] { write_tensor_transfer(b_, f_, p_, op); });
      case Opcode::tcgen05_mma:
      case Opcode::tcgen05_mma_sp:
      case Opcode::tcgen05_mma_ws:
      case Opcode::tcgen05_mma_ws_sp: return multiply(i, number);
      case Opcode::tcgen05_commit: return in_place_of(i, [&] { commit(number); });
      case Opcode::tcgen05_cp: return in_place_of(i, [&] { copy(number); });
      // What these order, the queue and the kernel's own barriers order.
      case Opcode::tcgen05_relinquish_alloc_permit:
      case Opcode::tcgen05_fence_before:
      case Opcode::tcgen05_fence_after:
      // The engine moves registers itself where they must be moved.
      case Opcode::setmaxnreg: return;
      // A warp's loads were one instruction; after it, one of its lanes may say that all are done.
      case Opcode::tcgen05_wait_ld:
      case Opcode::tcgen05_wait_st: return in_place_of(i, [&] { meet_in_warp(b_); });
      case Opcode::barrier_cluster_arrive: return in_place_of(i, [&] { frame_.cluster_barrier().arrive(op); });
      case Opcode::barrier_cluster_wait: return in_place_of(i, [&] { frame_.cluster_barrier().wait(op); });
      case Opcode::cp_async_bulk_tensor: return p_.peer_copies.count(number) ? copy_in_pair(i, number) : keep(i, op);
      case Opcode::ret:
      case Opcode::exit: return leave(i);
      default: return keep(i, op);
    }
  }

  void keep(const ir::Instruction& i, const ir::Operation& op) {
    if (const Writer write = earlier_form(op, f_.options.target))
      in_place_of(i, [&] { write(b_, op); });
    else
      b_.add({adapted(i, op)});
  }

  void leave(const ir::Instruction& i) {
    ir::Instruction jump = ir::instruction("bra", {ir::Operand::named(b_.name(frame_.leave()))});
    jump.guard = i.guard;
    jump.at = i.at;
    b_.add({std::move(jump)});
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
    const auto b = ops::roles<ops::Barrier>(op);
    return b.id && !b.threads;
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
  void copy_in_pair(const ir::Instruction& i, std::uint32_t number) {
    ir::Instruction plain = adapted(i, f_.code.operations[number]);
    std::erase(plain.modifiers, "cta_group::2");
    plain.guard.reset();
    const auto add_copy = [&](Register mbarrier) {
      plain.operands[2] = ir::Operand::address(ir::Operand::named(b_.name(mbarrier)));
      b_.add({plain});
    };
    in_place_of(i, [&] {
      const JumpTarget elsewhere = b_.label("elsewhere"), copied = b_.label("copied");
      const Register target = word_of(b_, i.operands[2]);
      b_.jump_if(is_elsewhere(b_, target), elsewhere);
      add_copy(target);
      b_.jump(copied);
      b_.place(elsewhere);
      add_copy(forwarded(b_, p_, target, p_.peer_copies.at(number)));
      b_.place(copied);
    });
  }

  template <class Write>
  void in_one_lane(Write write) {
    b_.when(!b_.pred("setp.ne.u32", b_.b32("mov.u32", "%laneid"), 0), write);
    meet_in_warp(b_);
  }

  void allocate(const ir::Operation& op) {
    const std::vector<ir::Operand>& operands = op.instruction->operands;
    in_one_lane([&] {
      const Register columns = word_of(b_, operands[1]), first = b_.reg(ScalarType::b32);
      if (p_.is_pair)
        allocate_in_pair(b_, p_, columns, first);
      else
        take_columns(b_, p_, columns, first);
      b_.op(is_generic(op, ops::roles<ops::TmemAllocation>(op).slot) ? "st.b32" : "st.shared.b32", operands[0], first);
    });
  }

  // By the engine, which drops what it has in registers for these columns.
  void deallocate(const ir::Operation& op) {
    in_one_lane([&] {
      const Register first = word_of(b_, op.instruction->operands[0]);
      b_.op("and.b32", first, first, bits(0xffff));
      const Register columns = word_of(b_, op.instruction->operands[1]);
      push(b_, p_, counted(p_, {unsigned(Command::free) | flag_other | flag_local, first, columns}));
    });
  }

  // The command is given where the last MMA of a batch stands, or the commit that is part of it. Its words are kept
  // from the first MMA on: later, the registers may have other values, and their names other scopes.
  void multiply(const ir::Instruction& i, std::uint32_t number) {
    if (const auto assumed = p_.assumptions.find(number); assumed != p_.assumptions.end())
      in_place_of(i, [&] { check(assumed->second); });
    if (p_.layouts.count(number)) in_place_of(i, [&] { check_layouts(number); });
    for (const auto& batch : p_.batches)  // clang 14 lets no lambda capture a structured binding
      in_place_of(i, [&] {
        const Registers& kept = kept_.at(batch.first);
        if (batch.second.operations.front() == number) describe(batch.second, kept);
        if (batch.second.given_at() == number) give(command(kept, 0));
      });
  }

  // The engine was made for these values.
  void check(const std::vector<Assumption>& assumptions) {
    for (const Assumption& a : assumptions)
      b_.op_if(b_.pred("setp.ne.u32", without_offset(*a.argument->operand), bits(a.value)), "trap");
  }

  void check_layouts(std::uint32_t number) {
    const auto found = p_.layouts.find(number);
    if (found == p_.layouts.end()) return;
    for (const LayoutAssumption& a : found->second) {
      const Register layout = b_.b64("mov.b64", without_offset(*a.descriptor->operand));
      b_.op("and.b64", layout, layout, bits(a.mask));
      b_.op_if(b_.pred("setp.ne.b64", layout, bits(a.value)), "trap");
    }
  }

  // Whether an address without a state space is a generic one. tcgen05 reaches shared memory alone, so that kernels
  // also have a variable's name or a shared address there, which is 32 bits wide.
  bool is_generic(const ir::Operation& op, const ir::Argument& address) const {
    if (op.modifiers.space() != isa::Space::generic) return false;
    const ir::Argument& base = address.kind == ir::Argument::Kind::address ? f_.code.components(address)[0] : address;
    if (base.kind == ir::Argument::Kind::reg) return isa::bits(f_.code.registers[base.id].type) == 64;
    return base.kind != ir::Argument::Kind::symbol;
  }

  // A command without an mbarrier.
  void give(const Words& words) {
    if (p_.is_pair)
      push_to_pair(b_, p_, words);
    else
      push(b_, p_, words);
  }

  static Words command(const Registers& kept, Term mbarrier) {
    Words out(kept.begin(), kept.end());
    out.insert(out.begin() + 3, mbarrier);
    return out;
  }

  void describe(const Batch& batch, const Registers& kept) {
    const ops::Mma mma = *ops::as<ops::Mma>(f_.code.operations[batch.operations.front()]);
    const unsigned word = unsigned(Command::first_form) + unsigned(batch.form);
    flag(kept[0], batch.commit ? word | flag_commits : word, mma.enable_input_d.pointer());
    const Register b = b_.reg(ScalarType::b32);
    move_low_half(b_, b, *mma.b->operand);
    b_.op("shl.b32", b, b, start_of_b);
    b_.op("or.b32", kept[0], kept[0], b);
    move_word(b_, kept[1], *mma.d->operand);
    if (mma.form.a_in_tmem)
      move_word(b_, kept[2], *mma.a->operand);
    else
      move_low_half(b_, kept[2], *mma.a->operand);
    if (kept.size() > 3) {
      const Register mask = b_.b64("mov.b64", without_offset(*mma.zero_mask->operand));
      b_.op("mov.b64", vec(kept[3], kept[4]), mask);
    }
    for (const auto& [column, from] : {std::pair(mma.sfa, start_of_sfa), std::pair(mma.sfb, start_of_sfb),
                                       std::pair(mma.metadata, start_of_metadata)}) {
      if (!column) continue;
      b_.op("bfi.b32", kept[2], word_of(b_, *column->operand), kept[2], from, tensor_column_bits);
    }
  }

  void copy(std::uint32_t number) {
    check_layouts(number);
    const std::vector<ir::Operand>& operands = f_.code.operations[number].instruction->operands;
    const Register to = word_of(b_, operands[0]), from = b_.reg(ScalarType::b32);
    move_low_half(b_, from, operands[1]);
    give({p_.command_of_copy(p_.copied.at(number)) | flag_other, to, from});
  }

  // `word`, and flag_first where a predicate holds.
  void flag(Register to, unsigned word, const ir::Argument* predicate) {
    const ir::Operand* o = predicate ? predicate->operand : nullptr;
    if (!o || o->is_integer()) return b_.op("mov.b32", to, o && o->value ? word | flag_first : word);
    unsigned yes = word | flag_first, no = word;
    if (o->negated) std::swap(yes, no);
    b_.op("selp.b32", to, yes, no, o->text);
  }

  void commit(std::uint32_t number) {
    const ir::Operation& op = f_.code.operations[number];
    const std::vector<ir::Operand>& operands = op.instruction->operands;
    const Register mbarrier = is_generic(op, ops::roles<ops::Commit>(op).mbarrier)
                                  ? to_shared(b_, operands[0], p_.has_clusters ? "shared::cluster" : "shared")
                                  : word_of(b_, operands[0]);
    unsigned word = unsigned(Command::commit) | flag_other | flag_commits;
    if (p_.commits.at(number)) word |= flag_first;
    if (operands.size() > 1) word |= flag_multicast;
    const Register ctas = ctas_of_commit(operands, mbarrier);
    const Registers* kept = kept_of_commit(number);
    if (p_.is_pair)
      push_to_pair(b_, p_, kept ? command(*kept, 0) : Words{word}, mbarrier, ctas);
    else
      push(b_, p_, kept ? command(*kept, mbarrier) : Words{word, 0, ctas, mbarrier});
  }

  // The CTAs at whose mbarriers a commit arrives, a bit for each.
  Register ctas_of_commit(const std::vector<ir::Operand>& operands, Register mbarrier) {
    if (operands.size() > 1)
      return b_.b32(operands[1].is_integer() ? "mov.b32" : "cvt.u32.u16", without_offset(operands[1]));
    if (!p_.is_pair) return b_.b32("mov.b32", 0);
    const Register rank = b_.b32("getctarank.shared::cluster.u32", mbarrier);
    b_.op("shl.b32", rank, 1, rank);
    return rank;
  }

  // The words of the batch that a commit is part of.
  const Registers* kept_of_commit(std::uint32_t commit) const {
    for (const auto& [last, batch] : p_.batches)
      if (batch.commit == commit) return &kept_.at(last);
    return nullptr;
  }

  const Facts& f_;
  const Plan& p_;
  Builder b_{reserved_prefix};
  Frame frame_{b_, p_};
  std::map<std::uint32_t, Registers> kept_{};  // words of commands, by the last MMA of the batch
  std::unordered_map<const ir::Instruction*, std::uint32_t> number_{};
};

}  // namespace

ir::Function rewrite(const Facts& facts, const Plan& plan) { return Rewriter(facts, plan).run(); }

}  // namespace kiln::lower
