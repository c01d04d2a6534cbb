#include "verifier/checks/checks.hpp"

#include <cstdio>

#include "ptx/isa/mma_shape.hpp"
#include "ptx/isa/shared_descriptor.hpp"
#include "ptx/ops/operations.hpp"
#include "ptx/rules/shared_memory.hpp"
#include "ptx/rules/tcgen05_form.hpp"
#include "ptx/rules/tcgen05_mma.hpp"
#include "verifier/finding.hpp"

namespace kiln::verifier {
namespace {

using flow::Bits;
using isa::MmaKind;
using Kind = ir::Argument::Kind;

constexpr std::uint64_t field(int from, int to) { return flow::low_mask(to) & ~flow::low_mask(from); }

// The bits that a rule about the instruction descriptor looks at.
constexpr std::uint64_t type_bits = field(7, 13), d_type_bits = field(4, 6), major_bits = field(15, 17);
constexpr std::uint64_t scale_bits = field(4, 6) | field(23, 25) | field(29, 32) | field(2, 3);
constexpr std::uint64_t sparse_bit = field(2, 3), n_bits = field(17, 23), m_bits = field(24, 29);

std::string hex(std::uint64_t v) {
  char text[19];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(v));
  return text;
}

// One MMA with what is known of its instruction descriptor.
class InstructionDescriptor {
 public:
  InstructionDescriptor(const Facts& facts, const ir::Operation& op, const ops::Mma& mma)
      : facts_(facts),
        op_(op),
        mma_(mma),
        kind_(op.modifiers.kind),
        bits_(facts.known.of(mma.idesc, 32)),
        f_(isa::unpack(std::uint32_t(bits_.one), kind_)) {}

  // At most one finding for the operand, in the order in which a reader would ask.
  void check() {
    if (bits_.is_nothing() || is_of_sm_107()) return;
    if (ask_reserved() || ask_wide()) return;
    if (bits_.knows(sparse_bit) && say(rules::idesc_sparse(f_.sparse, mma_.form.sparse))) return;
    if (ask_types() || ask_transpose() || ask_scale()) return;
    if (bits_.knows(m_bits) &&
        ask_shape(
            mma_.form.ws ? rules::mma_ws_m(f_.m) : rules::mma_m(op_.modifiers.cta_group, f_.m, kind_, mma_.form.sparse),
            "M = "))
      return;
    if (mma_.form.ashift && bits_.knows(m_bits) && say(rules::ashift_m(f_.m), "M = " + std::to_string(f_.m))) return;
    if (mma_.form.ws && bits_.knows(n_bits)) ask_shape(rules::mma_ws_n(f_.n, mma_.form.sparse), "N = ");
    if (mma_.form.ws) return;
    const bool byte_b = isa::container_bits(kind_) == 8;
    if (!bits_.knows(n_bits) || (byte_b && !bits_.knows(major_bits))) return;
    ask_shape(rules::mma_n(kind_, op_.modifiers.cta_group, f_.n, byte_b && f_.b_major == isa::Major::MN), "N = ");
  }

 private:
  bool say(const rules::Verdict& v, std::string got = {}) {
    return judge(facts_.sink, v, {facts_.code, op_, mma_.idesc->operand, false}, std::move(got));
  }

  // The fix-it is the whole word with the field repaired.
  bool ask_shape(const rules::Verdict& v, const std::string& name) {
    if (!v.broken()) return false;
    const bool m = v.rule == rules::Rule::mma_m;
    diag::Diagnostic& d =
        broken(facts_.sink, v, {facts_.code, op_, mma_.idesc->operand, false},
               name + std::to_string(v.given) + " for " + std::string(isa::spelling(op_.modifiers.cta_group)) + ", " +
                   std::string(isa::spelling(kind_)));
    const ir::Operand* operand = mma_.idesc->operand;
    if (!v.has_nearest || mma_.idesc->kind != Kind::immediate || !operand || operand->at.empty()) return true;
    const std::uint64_t cleared = bits_.one & ~(m ? m_bits : n_bits);
    const std::uint64_t repaired =
        cleared | (m ? std::uint64_t(v.nearest) >> 4 << 24 : std::uint64_t(v.nearest) >> 3 << 17);
    d.fixits.push_back({operand->at, hex(repaired)});
    return true;
  }

  // K of 96, another layout of scales: what such a word says is not followed.
  bool is_of_sm_107() {
    const bool is_there = facts_.target && facts_.target->sm == 107;
    const bool is_judged = (bits_.known() & flow::low_mask(32)) != 0;  // of an unknown word nothing is
    // The rules know all that they need of a K of 64 bytes. Its sums are not published, but no rule needs them.
    const auto word = std::uint32_t(bits_.one) & ~isa::idesc_wide_bit(kind_);
    const bool says_more = is_judged && isa::says_more_on_sm_107(word, kind_, mma_.form.sparse);
    if (!is_there || !says_more) return false;
    incomplete(facts_.sink, facts_.code.where(op_), "an instruction descriptor " + hex(bits_.one) + " of sm_107",
               rules::Limit::no_model);
    return true;
  }

  // A one in a reserved place is wrong whatever the unknown bits are.
  bool ask_reserved() {
    auto f = f_;
    if (!bits_.knows(sparse_bit)) f.selector = 0;
    return say(rules::idesc_reserved(kind_, f, mma_.form.ws));
  }

  bool ask_wide() {
    if (!f_.wide || !facts_.target) return false;
    return say(rules::mma_wide(*facts_.target, kind_, mma_.form.sparse),
               "K of 64 bytes for " + isa::spelling(*facts_.target));
  }

  bool ask_types() {
    if (!bits_.knows(type_bits)) return false;
    const auto a = isa::operand_type(kind_, f_.a_type), b = isa::operand_type(kind_, f_.b_type);
    const auto name = [](isa::ScalarType t) {
      return t == isa::ScalarType::none ? "?" : std::string(isa::spelling(t));
    };
    if (say(rules::mma_types(kind_, a, b), name(a) + " x " + name(b) + " for " + std::string(isa::spelling(kind_))))
      return true;
    if (isa::is_block_scaled(kind_) || !bits_.knows(d_type_bits)) return false;
    return say(rules::mma_accumulator(kind_, a, isa::d_type(f_.d_type)),
               name(isa::d_type(f_.d_type)) + " for " + name(a) + " operands of " + std::string(isa::spelling(kind_)));
  }

  bool ask_transpose() { return say(rules::idesc_transpose(kind_, f_.a_major, f_.b_major, mma_.form.a_in_tmem)); }

  bool ask_scale() {
    if (!isa::is_block_scaled(kind_) || !bits_.knows(scale_bits)) return false;
    const rules::Verdict v = rules::idesc_scale(kind_, op_.modifiers.scale_vector, f_);
    const bool format = v.has_nearest && v.nearest == 1;
    const isa::ScalarType scale = isa::scale_format(f_.scale_format);
    const std::string scales =
        scale == isa::ScalarType::none ? "scale format 3" : std::string(isa::spelling(scale)) + " scales";
    if (say(v, format ? scales : "scale id " + std::to_string(v.given))) return true;
    if (facts_.target &&
        say(rules::scale_format_target(*facts_.target, scale), scales + " for " + isa::spelling(*facts_.target)))
      return true;
    if (!f_.k96 || !facts_.target || !bits_.knows(m_bits)) return false;
    return say(rules::mma_k96(*facts_.target, mma_.form.group, mma_.form.sparse, f_.m),
               "K = 96 with M = " + std::to_string(f_.m) + (mma_.form.sparse ? ", sparse," : "") + " for " +
                   isa::spelling(*facts_.target));
  }

  const Facts& facts_;
  const ir::Operation& op_;
  const ops::Mma& mma_;
  MmaKind kind_;
  Bits bits_;
  isa::InstructionDescriptorFields f_;
};

constexpr std::uint64_t swizzle_bits = field(61, 64), version_bits = field(46, 49), base_offset_bits = field(49, 52);

// `major`: of the operand, when the instruction descriptor says it. One finding at most.
void check_shared(const Facts& facts, const ir::Operation& op, const ir::Argument& a, MmaKind kind,
                  std::optional<isa::Major> major) {
  const Bits bits = facts.known.of(a, 64);
  if (bits.is_nothing()) return;
  const Subject subject{facts.code, op, a.operand, false};
  if (facts.target && facts.target->sm == 107 && (bits.one & isa::sdesc_bits_of_sm_107)) {
    incomplete(facts.sink, facts.code.where(op), "a matrix descriptor " + hex(bits.one) + " of sm_107",
               rules::Limit::no_model);
    return;
  }
  isa::SharedDescriptorFields f = isa::unpack_shared(bits.one);
  if (!bits.knows(version_bits)) f.version = isa::descriptor_version;
  if (judge(facts.sink, rules::sdesc_fixed(f), subject,
            f.reserved ? "reserved bits " + hex(f.reserved) : "version " + std::to_string(f.version)))
    return;
  if (!bits.knows(swizzle_bits)) return;
  if (judge(facts.sink, rules::sdesc_swizzle(f.swizzle_code), subject)) return;
  const auto swizzle = isa::descriptor_swizzle(f.swizzle_code);
  if (!swizzle) return;
  if (major && judge(facts.sink, rules::sdesc_atom32(kind, *major, *swizzle), subject,
                     "the " + std::string(isa::spelling(*swizzle)) + " swizzle on " +
                         (*major == isa::Major::MN ? "an MN-major " : "a K-major ") + std::string(isa::spelling(kind)) +
                         " operand"))
    return;
  const std::uint64_t in_pattern = std::uint64_t(isa::period_bytes(*swizzle) - 1) >> 4;  // of the encoded start address
  if (bits.knows(in_pattern | base_offset_bits))
    judge(facts.sink, rules::sdesc_alignment(*swizzle, f.start & std::uint32_t(in_pattern << 4), f.base_offset),
          subject,
          "offset " + std::to_string(f.start & std::uint32_t(in_pattern << 4)) + " in the " +
              std::string(isa::spelling(*swizzle)) + " pattern");
}

// The mask of .ws: its own bits, and its shift against M and the descriptor's allowance.
void check_zero_mask(const Facts& facts, const ir::Operation& op, const ops::Mma& mma) {
  const Bits mask = facts.known.of(*mma.zero_mask, 64), idesc = facts.known.of(mma.idesc, 32);
  if (mask.is_nothing()) return;
  const Subject subject{facts.code, op, mma.zero_mask->operand, false};
  const isa::ZeroMaskFields f = isa::unpack_zero_mask(mask.one);
  if (judge(facts.sink, rules::zero_mask_fields(f), subject, "reserved bits " + hex(f.reserved))) return;
  constexpr std::uint64_t shift_bits = field(56, 62), allowance_bits = field(30, 32);
  if (!mask.knows(shift_bits) || !idesc.knows(m_bits | allowance_bits)) return;
  const auto d = isa::unpack(std::uint32_t(idesc.one), op.modifiers.kind);
  const int allowed = isa::max_shift_columns(d.max_shift);
  judge(facts.sink, rules::zero_mask_shift(f.shift, d.m, allowed), subject,
        "a shift by " + std::to_string(f.shift) + " columns with M = " + std::to_string(d.m) + " and an allowance of " +
            std::to_string(allowed));
}

void check_mma(const Facts& facts, const ir::Operation& op) {
  const auto mma = ops::as<ops::Mma>(op);
  if (!mma || op.modifiers.kind == MmaKind::none || op.modifiers.cta_group == isa::CtaGroup::none) return;
  InstructionDescriptor(facts, op, *mma).check();
  const Bits idesc = facts.known.of(mma->idesc, 32);
  const auto major = [&](int bit) -> std::optional<isa::Major> {
    if (!idesc.knows(field(bit, bit + 1))) return std::nullopt;
    return idesc.one >> bit & 1 ? isa::Major::MN : isa::Major::K;
  };
  if (!mma->form.a_in_tmem) check_shared(facts, op, mma->a, op.modifiers.kind, major(15));
  check_shared(facts, op, mma->b, op.modifiers.kind, major(16));
  if (mma->zero_mask) check_zero_mask(facts, op, *mma);
}

}  // namespace

void check_descriptors(const Facts& facts) {
  for (const ir::Operation& op : facts.code.operations) {
    if (!facts.is_formed(op)) continue;
    check_mma(facts, op);
    if (const auto copy = ops::as<ops::TmemCopy>(op)) check_shared(facts, op, copy->from, MmaKind::none, std::nullopt);
  }
}

}  // namespace kiln::verifier
