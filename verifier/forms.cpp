#include "verifier/forms.hpp"

#include <algorithm>
#include <unordered_set>

#include "ptx/isa/instruction_descriptor.hpp"
#include "ptx/rules/forms.hpp"
#include "ptx/rules/tcgen05_ld.hpp"
#include "verifier/finding.hpp"

namespace kiln::verifier {
namespace {

using isa::Opcode;
using Kind = ir::Argument::Kind;

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

std::string written(const ir::Code& code, const ir::Argument& a) {
  const diag::Place at = a.operand ? diag::Place(a.operand->at) : diag::Place{};
  if (code.module->source && !at.empty()) return quoted(code.module->source->text(at));
  return a.operand && !a.operand->text.empty() ? quoted(a.operand->text) : "another operand";
}

// One instruction against its form.
class FormCheck {
 public:
  FormCheck(const ir::Code& code, const ir::Operation& op, const Form& form, diag::Sink& sink)
      : code_(code), op_(op), m_(op.modifiers), form_(form), sink_(sink) {}

  // Whether the instruction has its form.
  bool run() {
    const bool modifiers_fit = check_modifiers() && check_combination();
    if (!modifiers_fit) return false;
    const std::string_view operands = check_operands();
    return operands.data() && check_values(operands);
  }

 private:
  bool refuse_modifier(std::string got) {
    judge(sink_, rules::form_modifier(false), {code_, op_}, std::move(got));
    return false;
  }

  // Each modifier fills a slot, each slot at most once.
  bool check_modifiers() {
    std::vector<bool> filled(form_.slots.size());
    for (const std::string& m : op_.instruction->modifiers) {
      const auto slot = take_slot(m, filled);
      if (slot == form_.slots.size()) return refuse_modifier("." + m);
      if (slot < form_.slots.size()) filled[slot] = true;
    }
    for (std::size_t i = 0; i < filled.size(); ++i)
      if (!filled[i] && !form_.slots[i].optional) return refuse_modifier(missing(form_.slots[i]));
    return true;
  }

  // The free slot for a modifier; size() when there is none, more for a repetition that ptxas lets pass.
  std::size_t take_slot(std::string_view modifier, const std::vector<bool>& filled) const {
    bool repeated = false;
    for (std::size_t i = 0; i < form_.slots.size(); ++i) {
      const auto& names = form_.slots[i].alternatives;
      if (std::find(names.begin(), names.end(), modifier) == names.end()) continue;
      if (!filled[i]) return i;
      repeated = modifier == "sync" || modifier == "NaN";
    }
    return form_.slots.size() + (repeated ? 1 : 0);
  }

  static std::string missing(const Form::Slot& slot) {
    std::string out = "none of";
    if (slot.alternatives.size() == 1) return "no ." + std::string(slot.alternatives[0]);
    for (std::string_view a : slot.alternatives) out += " ." + std::string(a);
    return out;
  }

  // What two modifiers say together.

  bool check_combination() {
    switch (op_.opcode) {
      case Opcode::tcgen05_cp: return check_copy();
      case Opcode::tcgen05_mma:
      case Opcode::tcgen05_mma_sp: return check_scale() && check_ashift();
      case Opcode::tcgen05_ld_red:
        if ((m_.absolute || m_.propagate_nan) && m_.type() != isa::ScalarType::f32)
          return refuse_modifier(m_.absolute ? ".abs on integers" : ".NaN on integers");
        return true;
      case Opcode::mbarrier_arrive:
      case Opcode::mbarrier_arrive_drop:
      case Opcode::mbarrier_test_wait:
      case Opcode::mbarrier_try_wait:
      case Opcode::mbarrier_expect_tx:
      case Opcode::mbarrier_complete_tx: return check_semantics();
      case Opcode::cp_async_bulk:
      case Opcode::cp_async_bulk_tensor: return check_completion();
      default: return true;
    }
  }

  bool check_copy() {
    using isa::DataShape, isa::CpMulticast;
    const bool pair = m_.shape == DataShape::s64x128b, quad = m_.shape == DataShape::s32x128b;
    const bool is_quad = m_.cp_multicast == CpMulticast::warpx4;
    if ((pair || quad) != (m_.cp_multicast != CpMulticast::none) ||
        (m_.cp_multicast != CpMulticast::none && quad != is_quad))
      return refuse_modifier(
          "." + std::string(spelling(m_.shape)) + " with " +
          (m_.cp_multicast == CpMulticast::none ? "no multicast" : "." + std::string(spelling(m_.cp_multicast))));
    const bool to = m_.cp_destination_format != isa::CpDestinationFormat::none;
    if (to != (m_.cp_source_format != isa::CpSourceFormat::none)) return refuse_modifier("one format of two");
    const auto& names = op_.instruction->modifiers;
    const auto at = [&](std::string_view name) { return std::find(names.begin(), names.end(), name); };
    return !to || at("b8x16") < at(spelling(m_.cp_source_format)) || refuse_modifier("the source format before .b8x16");
  }

  bool check_scale() {
    using isa::MmaKind, isa::ScaleVector;
    const bool scaled = isa::is_block_scaled(m_.kind);
    const ScaleVector v = m_.scale_vector;
    const std::string kind = "." + std::string(spelling(m_.kind));
    if (scaled != m_.block_scale)
      return refuse_modifier(kind + (scaled ? " without .block_scale" : " with .block_scale"));
    const bool fits =
        m_.kind == MmaKind::mxf8f6f4 ? v == ScaleVector::none || v == ScaleVector::x1 || v == ScaleVector::block32
        : m_.kind == MmaKind::mxf4   ? v == ScaleVector::none || v == ScaleVector::x2 || v == ScaleVector::block32
        : scaled                     ? v != ScaleVector::none && v != ScaleVector::x1
                                     : v == ScaleVector::none;
    if (fits) return true;
    return refuse_modifier(
        kind + (v == ScaleVector::none ? " without a scale vector size" : " with ." + std::string(spelling(v))));
  }

  bool check_ashift() {
    if (!m_.ashift) return true;
    using isa::Collector;
    if (isa::is_block_scaled(m_.kind)) return refuse_modifier(".ashift on ." + std::string(spelling(m_.kind)));
    if (m_.collector == Collector::a_fill || m_.collector == Collector::a_use)
      return refuse_modifier(".ashift with ." + std::string(spelling(m_.collector)));
    return op_.arg(1).kind == Kind::address || refuse_modifier(".ashift with A in shared memory");
  }

  // Order and scope come together.
  bool check_semantics() {
    const bool order = m_.semantics != isa::Semantics::none, scope = m_.scope != isa::Scope::none;
    if (order != scope) return refuse_modifier(order ? "an order without a scope" : "a scope without an order");
    const bool narrow = m_.semantics != isa::Semantics::relaxed && m_.scope != isa::Scope::cluster;
    return !m_.no_complete || narrow || refuse_modifier(".noComplete with .relaxed or .cluster");
  }

  bool check_completion() {
    const bool store = m_.spaces[0] == isa::Space::global;
    const bool group = m_.completion == isa::Completion::bulk_group;
    const bool within = op_.opcode == Opcode::cp_async_bulk && m_.spaces[0] == isa::Space::shared_cluster &&
                        m_.spaces[1] == isa::Space::shared_cta;
    if (!within && store == (m_.spaces[1] == isa::Space::global))
      return refuse_modifier("a copy that neither loads nor stores");
    if (store != group)
      return refuse_modifier(store ? "a store that completes on an mbarrier" : "a load that completes in a bulk group");
    if (store && (m_.multicast || m_.cta_group != isa::CtaGroup::none))
      return refuse_modifier(m_.multicast ? "a store with .multicast" : "a store with .cta_group");
    if (!store && m_.tensor_mode == isa::TensorMode::im2col_no_offs)
      return refuse_modifier("a load with .im2col_no_offs");
    return !is_im2col() || isa::dimensions(m_.dims) >= 3 || refuse_modifier(".im2col with fewer than three dimensions");
  }

  // Operands

  bool allowed(std::string_view operands) const {
    const auto has = [&](char c) { return operands.find(c) != operands.npos; };
    switch (op_.opcode) {
      case Opcode::tcgen05_ld:
      case Opcode::tcgen05_st:
      case Opcode::tcgen05_ld_red: return has('n') == (m_.shape == isa::DataShape::s16x32bx2);
      case Opcode::tcgen05_commit: return has('k') == m_.multicast;
      case Opcode::tcgen05_mma:
      case Opcode::tcgen05_mma_sp: return allowed_mma(operands);
      case Opcode::cp_async_bulk:
      case Opcode::cp_async_bulk_tensor:
      case Opcode::cp_async_bulk_prefetch:
      case Opcode::cp_async_bulk_prefetch_tensor: return allowed_bulk(operands);
      case Opcode::mbarrier_arrive:
      case Opcode::mbarrier_arrive_drop:
      case Opcode::mbarrier_test_wait:
      case Opcode::mbarrier_try_wait: return allowed_barrier(operands);
      default: return true;
    }
  }

  // The undocumented second predicate of kind::f16 and tf32 comes with a scale alone, that of dense i8 with and
  // without; the first may then not be a number.
  bool allowed_mma(std::string_view operands) const {
    using isa::MmaKind;
    const bool scaled = isa::is_block_scaled(m_.kind);
    const bool block = operands.ends_with("ddp"), scale = operands.ends_with('n');
    const bool second = operands.find("pp") != operands.npos;
    if (scaled) return block;
    if (block || (second && op_.arg(operands.find("pp")).kind != Kind::reg)) return false;
    switch (m_.kind) {
      case MmaKind::f16:
      case MmaKind::tf32: return !second || scale;
      case MmaKind::i8: return !second || !scale || op_.opcode == Opcode::tcgen05_mma;
      default: return !second && !scale;
    }
  }

  bool allowed_bulk(std::string_view operands) const {
    const auto has = [&](char c) { return operands.find(c) != operands.npos; };
    const bool store = m_.spaces[0] == isa::Space::global && op_.opcode == Opcode::cp_async_bulk_tensor;
    if (has('x') != m_.cache_hint || has('h') != (m_.multicast || m_.cp_mask)) return false;
    if (op_.opcode == Opcode::cp_async_bulk_tensor && operands.starts_with('c') != store) return false;
    if (op_.opcode != Opcode::cp_async_bulk) return has('o') == (is_im2col() && !store);
    const bool mbarrier = operands.starts_with("bbrb") || operands.starts_with("bbrrrb");
    return mbarrier == (m_.completion == isa::Completion::mbarrier) && operands.starts_with("bbrrr") == m_.ignore_oob;
  }

  // Modes whose loads take offsets.
  bool is_im2col() const {
    return m_.tensor_mode == isa::TensorMode::im2col || m_.tensor_mode == isa::TensorMode::im2col_w ||
           m_.tensor_mode == isa::TensorMode::im2col_w_128;
  }

  // An arrival that expects bytes, or must not complete, says how many; a wait takes a parity or a state.
  bool allowed_barrier(std::string_view operands) const {
    const bool wait = op_.opcode == Opcode::mbarrier_test_wait || op_.opcode == Opcode::mbarrier_try_wait;
    if (wait) return (operands[2] == 'r') == m_.parity;
    return operands.ends_with('r') || !(m_.expect_tx || m_.no_complete);
  }

  std::size_t matching(std::string_view operands) const {
    std::size_t n = 0;
    while (n < operands.size() && n < op_.arguments.size() && fits(code_, operands[n], op_.arguments[n])) ++n;
    return n;
  }

  // The operand list that fits; null data after a report.
  std::string_view check_operands() {
    std::string_view best;
    std::size_t best_length = 0;
    for (std::string_view operands : form_.operands) {
      if (!allowed(operands)) continue;
      const std::size_t n = matching(operands);
      if (n == operands.size() && n == op_.arguments.size()) return operands;
      if (best.data() && n < best_length) continue;
      // Of lists that fit equally far, the one of the right length says best what is wrong.
      if (best.data() && n == best_length && best.size() == op_.arguments.size()) continue;
      best = operands;
      best_length = n;
    }
    report_operands(best, best_length);
    return {};
  }

  void report_operands(std::string_view best, std::size_t at) {
    if (best.size() != op_.arguments.size()) {
      const std::size_t n = op_.arguments.size();
      judge(sink_, rules::form_operands(false), {code_, op_}, std::to_string(n) + (n == 1 ? " operand" : " operands"));
      return;
    }
    const ir::Argument& a = op_.arg(at);
    judge(sink_, rules::form_operands(false), {code_, op_, a.operand},
          written(code_, a) + " where " + std::string(describe(best[at])) + " belongs");
  }

  // Operand values that belong to the form.

  bool check_values(std::string_view operands) {
    switch (op_.opcode) {
      case Opcode::tcgen05_ld:
      case Opcode::tcgen05_st:
      case Opcode::tcgen05_ld_red: return check_vector(operands);
      case Opcode::tcgen05_mma:
      case Opcode::tcgen05_mma_sp: return check_mma_values(operands);
      case Opcode::mbarrier_test_wait:
      case Opcode::mbarrier_try_wait: return !m_.parity || check_parity(op_.arg(2));
      default: return true;
    }
  }

  bool check_parity(const ir::Argument& parity) {
    const bool fits = parity.kind != Kind::immediate || parity.value == 0 || parity.value == 1;
    return !judge(sink_, rules::form_operands(fits), {code_, op_, parity.operand, false},
                  "parity " + std::to_string(parity.value));
  }

  bool check_vector(std::string_view operands) {
    const std::size_t at = std::min(operands.find('v'), operands.find('w'));
    const int repeat = isa::repeat_count(m_.repeat);
    const Subject whole{code_, op_}, vector{code_, op_, op_.arg(at).operand};
    if (judge(sink_, rules::ld_repeat(m_.shape, repeat), whole)) return false;
    return !judge(sink_, rules::ld_registers(m_.shape, repeat, int(op_.arg(at).count)), vector,
                  std::to_string(op_.arg(at).count) + (op_.arg(at).count == 1 ? " register" : " registers"));
  }

  bool check_mma_values(std::string_view operands) {
    if (const std::size_t l = operands.find('l'); l != operands.npos) {
      const ir::Argument& lanes = op_.arg(l);
      const std::uint32_t want = m_.cta_group == isa::CtaGroup::two ? 8 : 4;
      if (judge(sink_, rules::form_operands(lanes.count == want), {code_, op_, lanes.operand},
                std::to_string(lanes.count) + " lane masks"))
        return false;
    }
    if (!operands.ends_with('n') || m_.kind == isa::MmaKind::i8) return true;
    const ir::Argument& scale = op_.arguments.back();
    const auto value = scale.kind == Kind::immediate ? std::uint32_t(scale.value) : 32u;
    return !judge(sink_, rules::form_operands(value <= 15), {code_, op_, scale.operand},
                  "scale " + std::to_string(std::int32_t(value)));
  }

  const ir::Code& code_;
  const ir::Operation& op_;
  const isa::Modifiers& m_;
  const Form& form_;
  diag::Sink& sink_;
};

// Modifiers that answer no question Kiln asks, on instructions that it only carries along.
bool is_carried(const ir::Operation& op) {
  switch (op.opcode) {
    case Opcode::prefetch:
    case Opcode::prefetchu:
    case Opcode::clusterlaunchcontrol_query_cancel:
    case Opcode::tensormap_replace:
    case Opcode::tensormap_cp_fenceproxy:
    case Opcode::ldmatrix:
    case Opcode::stmatrix:
    case Opcode::movmatrix:
    case Opcode::cvt:
    case Opcode::cvt_pack:
    case Opcode::istypep:
    case Opcode::fence_proxy:
    case Opcode::applypriority: return true;
    default: break;
  }
  const isa::Unit unit = isa::unit(op.opcode);
  return unit == isa::Unit::matrix || unit == isa::Unit::texture || unit == isa::Unit::video;
}

}  // namespace

std::vector<bool> check_forms(const ir::Code& code, diag::Sink& sink) {
  std::vector<bool> malformed(code.operations.size());
  std::unordered_set<std::string> reported;
  const auto once = [&](const ir::Operation& op, const std::string& what) {
    if (reported.insert(what).second) incomplete(sink, code.where(op), what);
  };
  for (std::size_t i = 0; i < code.operations.size(); ++i) {
    const ir::Operation& op = code.operations[i];
    if (op.opcode == Opcode::unknown) {
      once(op, "the instruction '" + op.instruction->unknown_name + "'");
      continue;
    }
    if (const Form* form = find_form(op.opcode)) {
      malformed[i] = !FormCheck(code, op, *form, sink).run();
    } else if (isa::unit(op.opcode) == isa::Unit::tcgen05) {
      once(op, "the form of '" + std::string(spelling(op.opcode)) + "'");
    } else if (!op.modifiers.others.empty() && !is_carried(op)) {
      once(op, "the modifier '." + op.modifiers.others[0] + "' of '" + std::string(spelling(op.opcode)) + "'");
    }
  }
  return malformed;
}

}  // namespace kiln::verifier
