#include "tools/command/decoded.hpp"

#include <fmt/format.h>

#include "ptx/isa/descriptor_text.hpp"
#include "ptx/isa/tmem.hpp"
#include "ptx/isa/wgmma.hpp"
#include "ptx/isa/zero_mask.hpp"
#include "ptx/rules/finding.hpp"
#include "ptx/rules/shared_memory.hpp"
#include "ptx/rules/tcgen05_alloc.hpp"
#include "ptx/rules/tcgen05_form.hpp"
#include "ptx/rules/tcgen05_mma.hpp"
#include "tools/command/report/console.hpp"

namespace kiln::command {
namespace {

using Json = nlohmann::ordered_json;
using isa::CtaGroup, isa::MmaKind;

std::string hex(std::uint64_t v) { return fmt::format("{:#x}", v); }

std::string type_name(isa::ScalarType type, unsigned code) {
  return type == isa::ScalarType::none ? fmt::format("code {}, no type of this kind", code)
                                       : std::string(spelling(type));
}

std::string short_name(isa::ScalarType type) {
  return type == isa::ScalarType::none ? "?" : std::string(spelling(type));
}

std::string major_name(isa::Major major) { return major == isa::Major::K ? "K" : "MN"; }

std::string value_text(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

// Every rule that a descriptor can break as far as the context decides it.
void judge_instruction(Decoded& out, const isa::InstructionDescriptorFields& f, const MmaContext& c) {
  const MmaKind kind = c.form.kind;
  const std::string of_kind = fmt::format("{}", isa::spelling(kind));
  const auto a = isa::operand_type(kind, f.a_type), b = isa::operand_type(kind, f.b_type);
  // A shift allowance is .ws's alone: without the form it may be right.
  out.judge(rules::idesc_reserved(kind, f, c.form.ws || !c.form_is_known()),
            f.reserved ? "reserved bits " + hex(f.reserved) : "a field that " + of_kind + " has not here");
  if (c.form_is_known()) out.judge(rules::idesc_sparse(f.sparse, c.form.sparse), f.sparse ? "sparse" : "dense");
  out.judge(rules::mma_types(kind, a, b), fmt::format("{} x {} for {}", short_name(a), short_name(b), of_kind));
  out.judge(rules::idesc_transpose(kind, f.a_major, f.b_major, c.form.a_in_tmem));
  if (isa::is_block_scaled(kind)) {
    const rules::Verdict v = rules::idesc_scale(kind, c.form.scale_vector, f);
    out.judge(v, v.nearest == 1 ? "ue4m3 scales" : fmt::format("scale id {}", v.given));
  } else {
    const auto d = isa::d_type(f.d_type);
    out.judge(rules::mma_accumulator(kind, a, d),
              fmt::format("{} for {} operands of {}", short_name(d), short_name(a), of_kind));
  }
}

void judge_extents(Decoded& out, const isa::InstructionDescriptorFields& f, const MmaContext& c) {
  if (!c.form_is_known()) return;
  const bool byte_b = isa::container_bits(c.form.kind) == 8 && f.b_major == isa::Major::MN;
  const std::string form = c.form.ws ? std::string(".ws") : std::string(isa::spelling(c.form.group));
  const auto got = [&](char extent, int value) {
    return fmt::format("{} = {} for {}, {}", extent, value, form, isa::spelling(c.form.kind));
  };
  out.judge(rules::ws_group(c.form), "cta_group::2");
  out.judge(rules::ws_kind(c.form), std::string(isa::spelling(c.form.kind)));
  out.judge(c.form.ws ? rules::mma_ws_m(f.m) : rules::mma_m(c.form.group, f.m, c.form.kind, f.sparse), got('M', f.m));
  out.judge(c.form.ws ? rules::mma_ws_n(f.n, f.sparse) : rules::mma_n(c.form.kind, c.form.group, f.n, byte_b),
            got('N', f.n));
  if (f.wide && c.target)
    out.judge(rules::mma_wide(*c.target, c.form.kind, f.sparse), "K of 64 bytes on " + isa::spelling(*c.target));
  if (f.k96 && c.target && !c.form.ws)
    out.judge(rules::mma_k96(*c.target, c.form.group, f.sparse, f.m),
              fmt::format("M = {} on {}{}", f.m, isa::spelling(*c.target), f.sparse ? ", sparse" : ""));
}

}  // namespace

void Decoded::judge(const rules::Verdict& v, const std::string& got) {
  if (v.broken()) findings.push_back(rules::finding(v.rule, got));
}

int Decoded::exit_code() const {
  for (const diag::Diagnostic& d : findings)
    if (d.severity == diag::Severity::error) return Exit::errors;
  return Exit::clean;
}

std::string line(const diag::Diagnostic& d) {
  return fmt::format("{}: {} [{}]", diag::spelling(d.severity), d.message, d.slug);
}

std::string text(const Decoded& d, int indent) {
  std::string out;
  for (const auto& item : d.fields.items())
    out += fmt::format("{:{}}{:<20} {}\n", "", indent, item.key(), value_text(item.value()));
  for (const diag::Diagnostic& f : d.findings) out += fmt::format("{:{}}{}\n", "", indent, line(f));
  return out;
}

Json json(const std::vector<diag::Diagnostic>& findings) {
  Json list = Json::array();
  for (const diag::Diagnostic& d : findings)
    list.push_back({{"severity", diag::spelling(d.severity)}, {"slug", d.slug}, {"message", d.message}});
  return list;
}

Json json(const Decoded& d) {
  Json j = d.fields;
  j["findings"] = json(d.findings);
  return j;
}

Decoded decode_instruction_descriptor(std::uint32_t word, const MmaContext& context) {
  const MmaKind kind = context.form.kind;
  const isa::InstructionDescriptorFields f = isa::unpack(word, kind);
  Decoded out;
  Json& j = out.fields;
  j["word"] = fmt::format("{:#010x}", word);
  j["text"] = printed(isa::InstructionDescriptor::raw(word, kind)).view();
  j["kind"] = std::string(spelling(kind)).substr(6);
  j["M"] = f.m;
  j["N"] = f.n;
  j["D"] = isa::is_block_scaled(kind) ? "f32" : type_name(isa::d_type(f.d_type), f.d_type);
  j["A"] = type_name(isa::operand_type(kind, f.a_type), f.a_type);
  j["B"] = type_name(isa::operand_type(kind, f.b_type), f.b_type);
  j["A_major"] = major_name(f.a_major);
  j["B_major"] = major_name(f.b_major);
  j["negate_A"] = f.negate_a;
  j["negate_B"] = f.negate_b;
  j["sparse"] = f.sparse;
  j["sparsity_selector"] = f.selector;
  if (isa::is_block_scaled(kind)) {
    j["scale_format"] = spelling(isa::scale_format(f.scale_format));
    j["SFA_id"] = f.sfa_id;
    j["SFB_id"] = f.sfb_id;
    j["K96"] = f.k96;
  } else {
    j["saturate"] = f.saturate;
    j["max_shift"] = isa::max_shift_columns(f.max_shift);
  }
  j["wide"] = f.wide;
  j["reserved"] = hex(f.reserved);
  judge_instruction(out, f, context);
  judge_extents(out, f, context);
  return out;
}

Decoded decode_shared_descriptor(std::uint64_t word, const OperandContext& context) {
  const isa::SharedDescriptorFields f = isa::unpack_shared(word);
  const auto swizzle = isa::descriptor_swizzle(f.swizzle_code);
  Decoded out;
  out.fields = {
      {"word", fmt::format("{:#018x}", word)},
      {"text", printed(isa::SharedDescriptor::raw(word)).view()},
      {"start_address", hex(f.start)},
      {"leading_byte_offset", f.leading},
      {"leading_is_absolute", f.leading_is_absolute},
      {"stride_byte_offset", f.stride},
      {"version", f.version},
      {"base_offset", f.base_offset},
      {"swizzle", swizzle ? std::string(spelling(*swizzle)) : fmt::format("code {}, no swizzle", f.swizzle_code)},
      {"reserved", hex(f.reserved)}};
  out.judge(rules::sdesc_fixed(f), f.version != isa::descriptor_version ? fmt::format("version {}", f.version)
                                                                        : "reserved bits " + hex(f.reserved));
  out.judge(rules::sdesc_swizzle(f.swizzle_code), fmt::format("{}", f.swizzle_code));
  if (!swizzle) return out;
  if (context.kind && context.major)
    out.judge(rules::sdesc_atom32(*context.kind, *context.major, *swizzle),
              fmt::format("the {} swizzle on {}-major {}", spelling(*swizzle), major_name(*context.major),
                          isa::spelling(*context.kind)));
  const std::uint32_t in_pattern = f.start % std::uint32_t(isa::period_bytes(*swizzle));
  out.judge(rules::sdesc_alignment(*swizzle, f.start, f.base_offset),
            fmt::format("offset {} in the {} pattern, base offset {}", in_pattern, spelling(*swizzle), f.base_offset));
  return out;
}

Decoded decode_wgmma_descriptor(std::uint64_t word) {
  const isa::SharedDescriptorFields f = isa::unpack_wgmma(word);
  Decoded out;
  out.fields = {{"word", fmt::format("{:#018x}", word)},
                {"start_address", hex(f.start)},
                {"leading_byte_offset", f.leading},
                {"stride_byte_offset", f.stride},
                {"base_offset", f.base_offset},
                {"swizzle", std::string(spelling(isa::wgmma_swizzle(f.swizzle_code)))},
                {"reserved", hex(f.reserved)}};
  return out;
}

Decoded decode_tensor_address(std::uint32_t word) {
  const isa::TmemAddress a = isa::unpack_tmem(word);
  Decoded out;
  out.fields = {{"word", fmt::format("{:#010x}", word)},
                {"lane", a.lane},
                {"column", a.column},
                {"warps", fmt::format("of index {} modulo 4", a.lane / isa::tmem_lanes_per_warp)},
                {"other_bits_set", hex(word & ~isa::pack(a))}};
  const int column = int(word & 0xFFFF);
  out.judge(rules::tmem_range(column, 1, isa::tmem_columns), fmt::format("column {}", column));
  return out;
}

Decoded decode_zero_mask(std::uint64_t word, const MaskContext& c) {
  const isa::ZeroMaskFields f = isa::unpack_zero_mask(word);
  Decoded out;
  out.fields = {{"word", fmt::format("{:#018x}", word)},
                {"start_counts", f.start},
                {"first_spans", f.first},
                {"non_zero_mask", f.generate},
                {"skip_span", fmt::format("{} columns of zeros", f.skip)},
                {"use_span", fmt::format("{} columns of B", f.use)},
                {"column_shift", f.shift},
                {"reserved", hex(f.reserved)}};
  out.judge(rules::zero_mask_fields(f), "reserved bits " + hex(f.reserved));
  if (!c.m) return out;
  const rules::Verdict rows = rules::mma_ws_m(c.m);
  out.judge(rows, fmt::format("M = {} for .ws", c.m));
  if (!rows.ok()) return out;
  const int allowed = c.allowed_shift.value_or(isa::zero_mask_max_shift(c.m));
  out.judge(rules::zero_mask_shift(f.shift, c.m, allowed),
            fmt::format("a shift of {} columns for M = {}", f.shift, c.m));
  if (!c.n) return out;
  const rules::Verdict columns = rules::mma_ws_n(c.n, c.sparse);
  out.judge(columns, fmt::format("N = {} for .ws", c.n));
  if (!columns.ok()) return out;
  const int parts = isa::zero_mask_parts(c.m), width = c.n / parts;
  for (int part = 0; part < parts; ++part) {
    std::string row;
    for (int n = part * width; n < (part + 1) * width; ++n) row += isa::is_zeroed(f, c.m, c.n, n) ? '1' : '0';
    out.fields[fmt::format("columns {}-{}", part * width, (part + 1) * width - 1)] = row;
  }
  return out;
}

}  // namespace kiln::command
