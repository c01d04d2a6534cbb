#include "lower/plan/passes.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "ptx/isa/features.hpp"
#include "ptx/isa/scales.hpp"
#include "ptx/isa/shared_descriptor.hpp"

namespace kiln::lower {
namespace {

using isa::Opcode;
using rules::Limit;

// A register as the sum of another one and a number, which the same block added.
struct Based {
  const ir::Argument* argument = nullptr;
  ir::RegisterId root = 0;
  std::int64_t added = 0;
};

class FormFinder {
 public:
  FormFinder(const Facts& f, Plan& p) : f_(f), p_(p) {}

  bool run() {
    bool good = true;
    for (const flow::BasicBlock& block : f_.cfg.blocks) {
      open_.reset();
      for (std::uint32_t i = block.first; i < block.last; ++i) {
        const ir::Operation& op = f_.code.operations[i];
        if (const auto mma = ops::as<ops::Mma>(op))
          good &= add(i, op, *mma, block);
        else if (ends_batch(op)) {
          if (op.opcode == Opcode::tcgen05_commit) take_in(i, op);
          open_.reset();
        }
      }
    }
    number();
    return good;
  }

 private:
  // A run of MMAs that may go on.
  struct Open {
    std::uint32_t last = 0;
    Form form{};
    Batch batch{};
  };

  // A wait in the middle of a batch would delay its first MMAs.
  static bool ends_batch(const ir::Operation& op) {
    switch (isa::unit(op.opcode)) {
      case isa::Unit::tcgen05:
        return op.opcode != Opcode::tcgen05_fence_after && op.opcode != Opcode::tcgen05_fence_before;
      case isa::Unit::barrier:
      case isa::Unit::mbarrier:
      case isa::Unit::control: return true;
      default: return false;
    }
  }

  bool add(std::uint32_t i, const ir::Operation& op, const ops::Mma& mma, const flow::BasicBlock& block) {
    std::optional<Form> form = form_of(op, mma);
    if (!form) return false;
    if (open_ && joins(*open_, i, mma, *form, block)) {
      Batch& batch = open_->batch;
      p_.batches.erase(open_->last);
      const ops::Mma first = *ops::as<ops::Mma>(f_.code.operations[batch.operations.front()]);
      Step step = form->steps.front();
      step.a = distance(first.a, mma.a, block);
      step.b = distance(first.b, mma.b, block);
      if (first.sfa) step.sfa = distance(*first.sfa, *mma.sfa, block);
      if (first.sfb) step.sfb = distance(*first.sfb, *mma.sfb, block);
      if (first.metadata) step.metadata += distance(*first.metadata, *mma.metadata, block);
      open_->form.steps.push_back(step);
      batch.operations.push_back(i);
    } else {
      open_ = Open{i, *form, {{i}, 0}};
    }
    open_->last = i;
    p_.batches[i] = open_->batch;
    pending_[i] = open_->form;
    return true;
  }

  // A commit that always follows the MMAs before it, and signals one mbarrier, needs no command of its own. A pair's
  // command has room for the multicast mask.
  void take_in(std::uint32_t i, const ir::Operation& op) {
    if (!open_ || op.guard || (op.modifiers.multicast() && !p_.is_pair)) return;
    if (f_.code.operations[open_->batch.operations.front()].guard) return;
    p_.batches.at(open_->last).commit = i;
  }

  // Gives each batch its form. Forms of batches that grew later are dropped.
  void number() {
    for (auto& [last, batch] : p_.batches) {
      const Form& form = pending_[last];
      const auto found = std::find(p_.forms.begin(), p_.forms.end(), form);
      batch.form = std::size_t(found - p_.forms.begin());
      if (found == p_.forms.end()) p_.forms.push_back(form);
    }
    for (const Form& form : p_.forms)
      if (std::find(p_.shares.begin(), p_.shares.end(), form.share) == p_.shares.end()) p_.shares.push_back(form.share);
  }

  // Whether enable-input-d is always one.
  bool is_set(const ops::Mma& mma) const {
    return mma.enable_input_d && f_.known.constant(*mma.enable_input_d, 1) == 1;
  }

  // The base of a register; nothing for an argument that is not a register. An `or` into bits that are zero is an
  // addition.
  std::optional<Based> based(const ir::Argument& a, const flow::BasicBlock& block) const {
    const ir::Argument& base = a.kind == ir::Argument::Kind::address ? f_.code.components(a)[0] : a;
    if (base.kind != ir::Argument::Kind::reg) return std::nullopt;
    Based out{&a, base.id, base.value};
    for (int depth = 0; depth < 8; ++depth) {
      const ir::Operation* writer = f_.definitions.only_writer(out.root);
      if (!writer || writer->guard || (writer->opcode != Opcode::add && writer->opcode != Opcode::or_)) break;
      const std::uint32_t at = f_.code.index(*writer);
      const auto sum = ops::roles<ops::Alu>(*writer);
      const ir::Argument& x = sum.a;
      const auto y = f_.known.constant(sum.b, 64);
      if (x.kind != ir::Argument::Kind::reg || !y || at < block.first || at >= block.last) break;
      if (writer->opcode == Opcode::or_ && (f_.known.of(x.id).zero & *y) != *y) break;
      out.root = x.id;
      out.added += std::int64_t(*y);
    }
    return out;
  }

  // The second operand minus the first, in the units of Step.
  std::int64_t distance(const ir::Argument& first, const ir::Argument& second, const flow::BasicBlock& block) const {
    const std::int64_t units = based(second, block)->added - based(first, block)->added;
    return first.kind == ir::Argument::Kind::address ? units : units * isa::descriptor_unit_bytes;
  }

  bool joins(const Open& open, std::uint32_t i, const ops::Mma& mma, const Form& form,
             const flow::BasicBlock& block) const {
    constexpr std::size_t most_steps = 8;
    const ir::Operation& op = f_.code.operations[i];
    const ir::Operation& head = f_.code.operations[open.batch.operations.front()];
    const ops::Mma first = *ops::as<ops::Mma>(head);
    Form alone = open.form;
    alone.steps = form.steps;
    if (!(alone == form) || open.batch.operations.size() >= most_steps || !is_set(mma)) return false;
    if (form.scale_input_d != 0) return false;  // each of these MMAs scales D
    if (op.guard || head.guard) return false;
    for (const auto& [x, y] : {std::pair(first.a, mma.a), std::pair(first.b, mma.b), std::pair(first.d, mma.d),
                               std::pair(first.sfa, mma.sfa), std::pair(first.sfb, mma.sfb),
                               std::pair(first.metadata, mma.metadata), std::pair(first.zero_mask, mma.zero_mask)}) {
      if (!x || !y) continue;
      const auto p = based(*x, block), q = based(*y, block);
      if (!p || !q || p->root != q->root) return false;
      const bool fixed = x.pointer() == first.d.pointer() || x.pointer() == first.zero_mask.pointer();
      if (fixed && p->added != q->added) return false;
      if (std::abs(q->added - p->added) >= 1 << 14) return false;
    }
    // What the first MMA reads, and the bases, must not have changed since, whichever value of a register that is.
    const auto& registers = f_.code.registers;
    const std::uint32_t from = f_.code.index(head);
    for (const ops::Operand& x : {first.a, first.b, first.d, first.sfa, first.sfb, first.metadata, first.zero_mask}) {
      const auto p = x ? based(*x, block) : std::nullopt;
      if (!p) continue;
      const ir::Argument& own = x->kind == ir::Argument::Kind::address ? f_.code.components(*x)[0] : *x;
      for (std::uint32_t w = from + 1; w < i; ++w)
        for (const ir::RegisterId r : f_.definitions.written(w))
          if (registers[r].name == registers[own.id].name || registers[r].name == registers[p->root].name) return false;
    }
    return true;
  }

  bool is_modelled(const ir::Operation& op, const ops::Mma& mma) const {
    const isa::MmaForm& form = mma.form;
    const auto no = [&](const char* what) { return f_.refuse(Limit::lower_unsupported, what, op); };
    if (form.ashift) return no(".ashift");
    if (form.sparse && form.block_scale) return no("an MMA with a sparse A and block scaling");
    return !form.disable_output_lane || has_all_lanes(op, mma);
  }

  std::optional<Form> form_of(const ir::Operation& op, const ops::Mma& mma) const {
    if (!is_modelled(op, mma)) return std::nullopt;
    const auto word = assumed(op, mma.idesc);
    if (!word) {
      const std::string why = f_.contract_values.why_unknown(mma.idesc, 32);
      f_.refuse(Limit::lower_idesc, why.empty() ? why : "one " + why, op);
      return std::nullopt;
    }
    const isa::InstructionDescriptorFields d = isa::unpack(std::uint32_t(*word), mma.form.kind);
    Form out;
    out.kind = mma.form.kind;
    out.a_type = isa::operand_type(out.kind, d.a_type);
    out.b_type = isa::operand_type(out.kind, d.b_type);
    out.negates = d.negate_a != d.negate_b;
    out.saturates = d.saturate;
    out.a_in_tmem = mma.form.a_in_tmem;
    out.sparse = mma.form.sparse;
    out.masks_columns = mma.zero_mask && f_.known.constant(*mma.zero_mask, 64) != 0;
    out.shifts_columns = out.masks_columns && d.max_shift != 0;
    out.expands = out.sparse && out.kind == isa::MmaKind::f8f6f4 && f_.options.target.sm < 100;
    const bool is_pair = mma.form.group == isa::CtaGroup::two;
    out.as_f16 = !out.sparse && out.kind == isa::MmaKind::f8f6f4 && f_.options.target.sm < 100;
    if (mma.scale_input_d) out.scale_input_d = int(mma.scale_input_d->value);
    const int parts = !mma.form.ws || d.m == 128 ? 1 : d.m == 64 ? 2 : 4;
    const isa::ScalarType sums = isa::is_block_scaled(out.kind) ? isa::ScalarType::f32 : isa::d_type(d.d_type);
    out.share = is_pair ? shared_out_in_pair(d.m / 2, d.n, sums, int(p_.engine_warps))
                        : shared_out(d.m, d.n, sums, int(p_.engine_warps), parts);
    out.scales = isa::scales_per_row(out.kind, mma.form.scale_vector);
    if (out.scales) out.scale_type = isa::scale_format(d.scale_format);
    if (out.scale_type == isa::ScalarType::ue5m3) {
      f_.refuse(Limit::lower_descriptor, "ue5m3 scales", op);
      return std::nullopt;
    }
    out.scaled_by_mma = out.scales && isa::has(isa::Feature::mma_narrow, f_.options.target) && has_scaled_mma(out);
    out.steps.push_back({0, 0, 0, 0, d.sfa_id, d.sfb_id, out.sparse ? d.selector : 0});
    const bool has_a = out.a_in_tmem || find_layout(op, mma.a, d.a_major, out.a);
    if (!find_layout(op, mma.b, d.b_major, out.b) || !has_a || !has_counterpart(out, d, op)) return std::nullopt;
    return out;
  }

  bool find_layout(const ir::Operation& op, const ir::Argument& descriptor, isa::Major major, Layout& out) const {
    const LayoutFound found = layout_of(f_, descriptor, major);
    if (!found.layout.swizzle || !found.unknown.empty()) return f_.refuse(Limit::lower_descriptor, found.unknown, op);
    if (found.assumption) p_.layouts[f_.code.index(op)].push_back(*found.assumption);
    out = found.layout;
    return true;
  }

  // ptxas 13.0 takes four scales of a row as ue4m3 alone.
  static bool has_scaled_mma(const Form& f) { return f.scales != 4 || f.scale_type == isa::ScalarType::ue4m3; }

  // A value that is known before the kernel runs, from the PTX or from the contract.
  std::optional<std::uint32_t> assumed(const ir::Operation& op, const ir::Argument& a) const {
    const auto value = f_.assumed(a, 32);
    if (!value) return std::nullopt;
    if (!f_.known.constant(a, 32)) p_.assumptions[f_.code.index(op)].push_back({&a, std::uint32_t(*value)});
    return std::uint32_t(*value);
  }

  // A mask selects lanes that are not written. Compilers write zeros, or read the mask from a parameter.
  bool has_all_lanes(const ir::Operation& op, const ops::Mma& mma) const {
    for (const ir::Argument& word : f_.code.components(*mma.lanes)) {
      const auto value = assumed(op, word);
      if (value == 0u) continue;
      const std::string why = value ? "" : f_.contract_values.why_unknown(word, 32);
      return f_.refuse(Limit::lower_unsupported, "an MMA with masks of lanes" + (why.empty() ? "" : " " + why), op);
    }
    return true;
  }

  static bool has_type(isa::MmaKind kind, isa::ScalarType t) { return isa::operand_type_code(kind, t).has_value(); }

  bool has_counterpart(const Form& form, const isa::InstructionDescriptorFields& d, const ir::Operation& op) const {
    const auto no = [&](const std::string& what) { return f_.refuse(Limit::lower_unsupported, what, op); };
    for (const isa::ScalarType t : {form.a_type, form.b_type})
      if (!has_type(form.kind, t)) return no(fmt::format("an operand of {}", isa::spelling(t)));
    if (cuts_sums(form))
      return f_.refuse(Limit::lower_target,
                       fmt::format("8-bit floats with {}, whose sums mma.sync cuts, for {}",
                                   form.sparse ? "a sparse A" : "block scaling", isa::spelling(f_.options.target)),
                       op);
    if (form.share.halves == 2 && !has_counterpart_in_pair(form, d, op)) return false;
    if (form.share.warps() == 0) return no(fmt::format("an MMA of {} x {}", d.m, d.n));
    if (form.scale_input_d != 0 && form.share.d_type != isa::ScalarType::f32) return no("scale-input-d of f16 sums");
    if (d.k96) return no("an MMA with K = 96");
    if (form.sparse && !has_sparse_counterpart(form, op)) return false;
    if (form.a_in_tmem && form.scales) return no("A in tensor memory of an MMA with block scaling");
    if (form.a_in_tmem && isa::bits(form.a_type) < 8)
      return no(fmt::format("A of {} in tensor memory", isa::spelling(form.a_type)));
    if (d.a_major == isa::Major::MN && form.a_in_tmem) return no("A in tensor memory that is not K-major");
    const bool a_good = form.a_in_tmem || is_laid_out(form.a, form.a_type, form, op);
    if (form.shifts_columns && d.b_major == isa::Major::MN) return no("a shift of columns of a B that is not K-major");
    return a_good && is_laid_out(form.b, form.b_type, form, op);
  }

  // On sm_89, mma.sync of 8-bit floats keeps 13 bits below the largest term. Other forms are multiplied as f16 there.
  bool cuts_sums(const Form& form) const {
    const bool eight_bits = form.kind == isa::MmaKind::mxf8f6f4 || form.kind == isa::MmaKind::f8f6f4;
    return f_.options.target.sm == 89 && eight_bits && !form.as_f16;
  }

  // The peer's half of B is read as it lies there.
  bool has_counterpart_in_pair(const Form& form, const isa::InstructionDescriptorFields& d,
                               const ir::Operation& op) const {
    const auto no = [&](const std::string& what) { return f_.refuse(Limit::lower_pair, what, op); };
    if (form.sparse) return no("an MMA with a sparse A");
    if (form.scales) return no("an MMA with block scaling");
    if (form.a_in_tmem && form.share.parts > 1) return no(fmt::format("A in tensor memory with M = {}", d.m));
    if (isa::bits(form.b_type) < 8) return no(fmt::format("B of {}", isa::spelling(form.b_type)));
    for (const auto& [major, type] : {std::pair(d.a_major, form.a_type), std::pair(d.b_major, form.b_type)})
      if (major == isa::Major::MN && form.kind != isa::MmaKind::f16)
        return no(fmt::format("an operand of {} that is not K-major", isa::spelling(type)));
    return true;
  }

  bool has_sparse_counterpart(const Form& form, const ir::Operation& op) const {
    if (form.b.major == isa::Major::K && form.b.swizzle == isa::Swizzle::b32)
      return f_.refuse(Limit::lower_unsupported, "64 bytes of K with a swizzle of 32", op);
    return true;
  }

  bool is_laid_out(const Layout& l, isa::ScalarType type, const Form& form, const ir::Operation& op) const {
    const bool gathered = l.major == isa::Major::MN && form.kind != isa::MmaKind::f16;
    if (gathered && (isa::bits(type) < 8 || form.scales))
      return f_.refuse(Limit::lower_unsupported,
                       fmt::format("an operand of {} that is not K-major", isa::spelling(type)), op);
    if (gathered && (*l.swizzle == isa::Swizzle::b128_atom32) != (form.kind == isa::MmaKind::tf32))
      return f_.refuse(Limit::lower_unsupported, "this swizzle of an operand that is not K-major", op);
    if (l.major == isa::Major::K && *l.swizzle == isa::Swizzle::b128_atom32)
      return f_.refuse(Limit::lower_unsupported, "32-byte atoms of a K-major operand", op);
    return true;
  }

  const Facts& f_;
  Plan& p_;
  std::optional<Open> open_{};
  std::map<std::uint32_t, Form> pending_{};
};

}  // namespace

bool find_forms(const Facts& facts, Plan& plan) { return FormFinder(facts, plan).run(); }

}  // namespace kiln::lower
