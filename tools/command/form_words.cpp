#include "tools/command/form_words.hpp"

#include <fmt/format.h>

#include "ptx/rules/finding.hpp"

namespace kiln::command {
namespace {

std::string or_none(std::string_view text) { return text.empty() ? "none" : std::string(text); }

}  // namespace

std::string operands_text(const isa::OperandContract& c) {
  std::string out;
  const auto add = [&](std::string_view name, isa::Residency r) {
    if (r != isa::Residency::none) out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", name, isa::spelling(r));
  };
  add("A", c.a);
  add("B", c.b);
  add("metadata", c.metadata);
  add("scales", c.scales);
  return or_none(out);
}

std::string variant_text(const isa::VariantInfo& v) {
  return v.encoding == isa::Encoding::nothing ? fmt::format("{}, which no instruction encodes", v.name)
                                              : fmt::format("{}: {}", v.name, v.mnemonic);
}

std::string ladder_text(const rules::LadderAnswer& a) {
  if (!a.step) return fmt::format("all {} steps hold", rules::mma_ladder.size());
  const rules::RuleInfo& rule = rules::info(a.verdict.rule);
  return fmt::format("step {} of {} refuses: {} [{}]", a.step, rules::mma_ladder.size(), rule.must, rule.slug);
}

std::string_view vendor_text(const rules::LadderAnswer& a) {
  return a.step ? rules::mma_ladder[std::size_t(a.step) - 1].vendor_text : std::string_view();
}

Decoded decode_form(const isa::MmaForm& f, isa::Target target) {
  const isa::VariantInfo variant = isa::info(isa::classify(f));
  const rules::LadderAnswer answer = rules::climb({.form = f, .target = target});
  Decoded out;
  out.fields = {{"kind", std::string(isa::spelling(f.kind)).substr(6)},
                {"cta_group", f.group == isa::CtaGroup::two ? 2 : 1},
                {"ws", f.ws},
                {"sparse", f.sparse},
                {"block_scale", f.block_scale},
                {"scale_vector", or_none(isa::spelling(f.scale_vector))},
                {"scale_input_d", f.scale_input_d},
                {"collector", isa::spelling(isa::collector_use(f.collector))},
                {"ashift", f.ashift},
                {"variant", variant_text(variant)},
                {"operands", operands_text(variant.contract)},
                {"target", isa::spelling(target)},
                {"ladder_step", answer.step}};
  if (!answer.step) return out;
  out.fields["vendor_text"] = vendor_text(answer);
  out.judge(answer.verdict, fmt::format("{} on {}, at step {} of the ladder", isa::spelling(f.kind),
                                        isa::spelling(target), answer.step));
  return out;
}

}  // namespace kiln::command
