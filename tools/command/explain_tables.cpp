// kiln explain variants, ladder, kind-word: the tables of tcgen05.mma.
#include <fmt/format.h>

#include <array>
#include <boost/hana/for_each.hpp>
#include <nlohmann/json.hpp>

#include "ptx/isa/kind_word.hpp"
#include "ptx/rules/catalogue.hpp"
#include "tools/command/explain.hpp"
#include "tools/command/form_words.hpp"
#include "tools/command/json.hpp"

namespace kiln::command {
namespace {

using Json = nlohmann::ordered_json;

std::vector<isa::VariantInfo> variants() {
  std::vector<isa::VariantInfo> out;
  for (int v = 0; v <= int(isa::Variant::warp_specialized_scaled_sparse); ++v)
    out.push_back(isa::info(isa::Variant(v)));
  return out;
}

std::string encoded_by(const isa::VariantInfo& v) {
  switch (v.encoding) {
    case isa::Encoding::instruction: return std::string(v.mnemonic);
    case isa::Encoding::alias:
      return fmt::format("{}, as \"{}\"", v.mnemonic, isa::info(*isa::encoded_variant(v.variant)).name);
    case isa::Encoding::nothing: return "nothing";
  }
  return "";
}

std::string variants_text() {
  std::string out =
      "The ten variants in which the Tileiras documentation sorts tcgen05.mma, and what the PTX ISA has.\n";
  for (const isa::VariantInfo& v : variants()) {
    out += fmt::format("\n{}\n  the ISA has    {}{}\n", v.name, encoded_by(v),
                       v.encoding == isa::Encoding::nothing ? ": no instruction encodes it"
                       : v.two_ctas                         ? ", cta_group::1 and ::2"
                                                            : ", cta_group::1");
    out += fmt::format("  they print     {}\n", operands_text(v.published));
    if (v.encoding != isa::Encoding::nothing)
      out += v.contract == v.published ? "  the ISA takes  the same\n"
                                       : fmt::format("  the ISA takes  {}\n", operands_text(v.contract));
  }
  out += "\nTheir table from patterns of programs to variants:\n\n";
  for (const isa::Idiom& i : isa::idioms) out += fmt::format("  {:<63} {}\n", i.pattern, isa::info(i.variant).name);
  return out;
}

Json contract_json(const isa::OperandContract& c) {
  return {{"A", isa::spelling(c.a)},
          {"B", isa::spelling(c.b)},
          {"metadata", isa::spelling(c.metadata)},
          {"scales", isa::spelling(c.scales)}};
}

Json variants_json() {
  Json rows = Json::array(), idioms = Json::array();
  for (const isa::VariantInfo& v : variants()) {
    Json row = {{"name", v.name}, {"published", contract_json(v.published)}};
    const bool encoded = v.encoding != isa::Encoding::nothing;
    row["instruction"] = encoded ? Json(v.mnemonic) : Json();
    row["alias_of"] =
        v.encoding == isa::Encoding::alias ? Json(isa::info(*isa::encoded_variant(v.variant)).name) : Json();
    row["contract"] = encoded ? contract_json(v.contract) : Json();
    row["two_ctas"] = v.two_ctas;
    rows.push_back(row);
  }
  for (const isa::Idiom& i : isa::idioms)
    idioms.push_back({{"pattern", i.pattern}, {"variant", isa::info(i.variant).name}});
  return {{"variants", rows}, {"idioms", idioms}};
}

std::string ladder_text() {
  std::string out =
      "What NVIDIA's device compiler asks of every tcgen05.mma, in its order; it stops at the first that fails. Its\n"
      "sentences are quoted as CUDA 13.0.88 prints them. ptxas refuses the same with words of its own.\n";
  int step = 0;
  for (const rules::LadderStep& s : rules::mma_ladder) {
    const rules::RuleInfo& rule = rules::info(s.rule);
    out += fmt::format("\n{:>2}. \"{}\"\n    {} [{}]\n", ++step, s.vendor_text, rule.must, rule.slug);
  }
  return out;
}

Json ladder_json() {
  Json steps = Json::array();
  for (const rules::LadderStep& s : rules::mma_ladder)
    steps.push_back({{"step", steps.size() + 1},
                     {"slug", rules::info(s.rule).slug},
                     {"must", rules::info(s.rule).must},
                     {"vendor_text", s.vendor_text}});
  return Json::object({{"ladder", steps}});
}

/// A field of the word in both layouts.
struct FieldRow {
  std::string_view name;
  isa::WordField isa::KindWordLayout::*field;
};
constexpr FieldRow field_rows[] = {
    {"ws", &isa::KindWordLayout::ws},
    {"cta_group", &isa::KindWordLayout::group},
    {"scale vector", &isa::KindWordLayout::scale_vector},
    {"scale-input-d", &isa::KindWordLayout::scale_input_d},
    {"sparse", &isa::KindWordLayout::sparse},
    {"block_scale", &isa::KindWordLayout::block_scale},
    {"kind", &isa::KindWordLayout::kind},
    {"block alias", &isa::KindWordLayout::alias},
};

std::string bits_text(isa::WordField f) {
  if (!f.width) return "-";
  return f.width == 1 ? fmt::format("{}", f.low) : fmt::format("{}-{}", f.low, f.low + f.width - 1);
}

/// A value and its code in both layouts: (field and value, code, code).
struct CodeRow {
  std::string value;
  int consistent, published;
};

std::vector<CodeRow> code_rows() {
  const isa::KindWordLayout &c = isa::consistent_kind_word, &p = isa::published_kind_word;
  std::vector<CodeRow> out;
  for (std::size_t i = 0; i < 2; ++i)
    out.push_back({fmt::format("cta_group::{}", i + 1), c.group_codes[i], p.group_codes[i]});
  for (std::size_t i = 0; i < isa::kind_word_scale_vectors.size(); ++i) {
    const std::string_view name = isa::spelling(isa::kind_word_scale_vectors[i]);
    out.push_back(
        {name.empty() ? "no scale vector" : std::string(name), c.scale_vector_codes[i], p.scale_vector_codes[i]});
  }
  for (std::size_t i = 0; i < isa::mma_kinds.size(); ++i)
    out.push_back({std::string(isa::spelling(isa::mma_kinds[i])), c.kind_codes[i], p.kind_codes[i]});
  return out;
}

std::string code_text(int code) { return code == isa::no_code ? "-" : fmt::format("{}", code); }

std::string kind_word_text() {
  const auto row = [](std::string_view name, std::string_view a, std::string_view b) {
    return a == b ? fmt::format("  {:<18} {:<12} {}\n", name, a, b)
                  : fmt::format("  {:<18} {:<12} {:<12} differs\n", name, a, b);
  };
  const auto &c = isa::consistent_kind_word, &p = isa::published_kind_word;
  std::string out = fmt::format(
      "The flags with which NVIDIA's compilers describe a tcgen05.mma between their passes. PTX has no such word. The\n"
      "consistent layout ({} bits) is the one that the compiler's checks test; the published one ({} bits) is the\n"
      "Tileiras documentation's.\n\n{}",
      c.bits, p.bits, fmt::format("  {:<18} {:<12} {}\n", "bits of", c.name, p.name));
  for (const FieldRow& f : field_rows) out += row(f.name, bits_text(c.*f.field), bits_text(p.*f.field));
  out += "\n  code of\n";
  for (const CodeRow& r : code_rows()) out += row(r.value, code_text(r.consistent), code_text(r.published));
  out += "\nHow one knows:\n";
  for (const isa::KindWordDifference& d : isa::kind_word_differences)
    out += fmt::format("\n  {}: {}; published: {}\n    {}\n", d.field, d.consistent, d.published, d.evidence);
  return out +
         "\nBeside it stands a collector word: bits 0-1 discard 0, lastuse 1, fill 2, use 3; bit 2 ashift.\n"
         "`kiln decode kind-word` takes both apart.\n";
}

Json layout_json(const isa::KindWordLayout& l, int CodeRow::*code) {
  Json j = {{"name", l.name}, {"bits", l.bits}, {"fields", Json::object()}, {"codes", Json::object()}};
  for (const FieldRow& f : field_rows) j["fields"][f.name] = (l.*f.field).width ? Json(bits_text(l.*f.field)) : Json();
  for (const CodeRow& r : code_rows()) j["codes"][r.value] = r.*code == isa::no_code ? Json() : Json(r.*code);
  return j;
}

Json kind_word_json() {
  Json differences = Json::array();
  for (const isa::KindWordDifference& d : isa::kind_word_differences)
    differences.push_back(
        {{"field", d.field}, {"consistent", d.consistent}, {"published", d.published}, {"evidence", d.evidence}});
  return {{"layouts",
           {layout_json(isa::consistent_kind_word, &CodeRow::consistent),
            layout_json(isa::published_kind_word, &CodeRow::published)}},
          {"differences", differences}};
}

}  // namespace

Json table_json(std::string_view name) {
  return name == "ladder" ? ladder_json() : name == "kind-word" ? kind_word_json() : variants_json();
}

std::optional<std::string> explain_table(const std::string& name, bool as_json) {
  const auto printed = [&](Json (*json)(), std::string (*text)()) { return as_json ? versioned(json()) : text(); };
  if (name == "variants" || name == "tcgen05-variants") return printed(variants_json, variants_text);
  if (name == "ladder") return printed(ladder_json, ladder_text);
  if (name == "kind-word") return printed(kind_word_json, kind_word_text);
  return std::nullopt;
}

}  // namespace kiln::command
