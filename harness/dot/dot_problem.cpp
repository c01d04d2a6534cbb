#include "harness/dot/dot_problem.hpp"

#include <array>

#include "harness/json/json_node.hpp"
#include "ptx/isa/kind_word.hpp"
#include "ptx/isa/scales.hpp"
#include "ptx/isa/sparse.hpp"
#include "ptx/isa/targets.hpp"
#include "ptx/rules/tcgen05_form.hpp"
#include "ptx/rules/tcgen05_mma.hpp"

namespace kiln::harness {

std::string_view spelling(DotInstruction i) {
  switch (i) {
    case DotInstruction::tcgen05_mma: return "tcgen05.mma";
    case DotInstruction::mma_sync: return "mma.sync";
    case DotInstruction::wgmma: return "wgmma";
  }
  return "";
}

std::optional<std::uint32_t> evaluate(const DotProblem& p) {
  switch (p.instruction) {
    case DotInstruction::tcgen05_mma: return num::dot(p.spec, p.a, p.b, p.c, {p.scale_a, p.scale_b, p.metadata});
    case DotInstruction::mma_sync:
    case DotInstruction::wgmma: break;  // one tcgen05.mma is one sum; theirs are several, by architecture
  }
  return std::nullopt;
}

// Dot products out of JSON. What is wrong is reported with its place before anything is computed.

namespace {

using isa::MmaKind;
using isa::ScalarType;
using u32 = std::uint32_t;
using u8 = std::uint8_t;

DotInstruction read_instruction(const JsonNode& node) {
  constexpr std::array all{DotInstruction::tcgen05_mma, DotInstruction::mma_sync, DotInstruction::wgmma};
  for (const DotInstruction i : all)
    if (node.text() == spelling(i)) return i;
  node.fail("must be tcgen05.mma, mma.sync or wgmma; got {}", node.shown());
}

MmaKind read_kind(const JsonNode& node) {
  for (const MmaKind k : isa::mma_kinds)
    if ("kind::" + node.text() == isa::spelling(k)) return k;
  node.fail("must be f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4 or mxf4nvf4; got {}", node.shown());
}

ScalarType read_format(const JsonNode& node) {
  if (const auto type = isa::parse_type(node.text()); type && isa::bits(*type) <= 32) return *type;
  node.fail("must be a format such as bf16 or e4m3; got {}", node.shown());
}

// Bits of a word that stands for one element.
int word_bits(ScalarType type) { return type == ScalarType::tf32 ? 32 : isa::bits(type); }
std::uint64_t largest_word(ScalarType type) { return (std::uint64_t{1} << word_bits(type)) - 1; }

template <class T>
std::vector<T> read_words(const JsonNode& node, std::size_t least, std::size_t most, std::uint64_t largest) {
  std::vector<T> words;
  node.each_element(least, most, [&](std::size_t, const JsonNode& e) { words.push_back(T(e.whole(0, largest))); });
  return words;
}

// What a vector says before its words: which instruction, which formats.
DotProblem read_header(const JsonNode& node) {
  node.expect_object({"id",    "path", "provenance", "instruction", "arch",           "kind",          "a_fmt", "b_fmt",
                      "d_fmt", "a",    "b",          "c",           "scale_fmt",      "scale_vec",     "sa",    "sb",
                      "meta",  "sat",  "negate_a",   "negate_b",    "enable_input_d", "scale_input_d", "expect"});
  DotProblem p;
  p.name = node.path();
  for (const char* note : {"path", "provenance"}) node.when(note, [](const JsonNode& n) { n.text(); });
  node.when("id", [&](const JsonNode& n) { p.name += " (" + n.text() + ")"; });
  node.when("instruction", [&](const JsonNode& n) { p.instruction = read_instruction(n); });
  node.when("arch", [&](const JsonNode& n) {
    if (!isa::parse_target(n.text())) n.fail("must be a target such as sm_90a; got {}", n.shown());
    p.arch = n.text();
  });
  if (p.instruction != DotInstruction::tcgen05_mma) node.at("arch");
  p.spec.a = read_format(node.at("a_fmt"));
  p.spec.b = read_format(node.at("b_fmt"));
  p.spec.d = read_format(node.at("d_fmt"));
  return p;
}

void read_operands(const JsonNode& node, DotProblem& p) {
  constexpr std::size_t longest = 128;  // of any instruction's K
  p.a = read_words<u32>(node.at("a"), 1, longest, largest_word(p.spec.a));
  p.b = read_words<u32>(node.at("b"), 1, longest, largest_word(p.spec.b));
  p.c = u32(node.at("c").whole(0, largest_word(p.spec.d)));
  node.when("expect", [&](const JsonNode& n) { p.expect = u32(n.whole(0, largest_word(p.spec.d))); });
}

void check_formats(const JsonNode& node, MmaKind kind, const num::DotSpec& s) {
  const auto name = [](ScalarType t) { return isa::spelling(t); };
  if (!isa::operand_type_code(kind, s.a)) node.at("a_fmt").fail("{} has no {}", isa::spelling(kind), name(s.a));
  if (!isa::operand_type_code(kind, s.b)) node.at("b_fmt").fail("{} has no {}", isa::spelling(kind), name(s.b));
  if (rules::mma_types(kind, s.a, s.b).broken())
    node.at("b_fmt").fail("{} does not multiply {} by {}", isa::spelling(kind), name(s.a), name(s.b));
  if (rules::mma_accumulator(kind, s.a, s.d).broken())
    node.at("d_fmt").fail("{} does not add {} products to {}", isa::spelling(kind), name(s.a), name(s.d));
}

// A may come as it is stored, or as long as B with whatever where nothing is kept.
void read_sparse(const JsonNode& node, MmaKind kind, DotProblem& p) {
  const auto k = std::size_t(isa::mma_k(kind, true)), words = k / std::size_t(isa::metadata_chunk(kind)) / 8;
  p.spec.sparse = true;
  p.metadata = read_words<u32>(node.at("meta"), words, words, 0xFFFFFFFF);
  node.at("meta").each_element(words, words, [&](std::size_t i, const JsonNode& word) {
    for (int at = 0; at < 32; at += 4)
      if (const u32 nibble = p.metadata[i] >> at & 15; !isa::is_selector(kind, nibble))
        word.fail("the nibble {:#x} at bit {} keeps no half of its chunk", nibble, at);
  });
  if (p.b.size() != k)
    node.at("b").fail("must have {} elements, sparse {}; got {}", k, isa::spelling(kind), p.b.size());
  if (p.a.size() == k / 2) return;
  if (p.a.size() != k)
    node.at("a").fail("must have {} elements, or the {} that are kept; got {}", k, k / 2, p.a.size());
  std::vector<u32> kept(k / 2);
  for (std::size_t slot = 0; slot < kept.size(); ++slot)
    kept[slot] = p.a[std::size_t(num::sparse_column(p.spec.kind, int(slot), p.metadata))];
  p.a = std::move(kept);
}

// Operands shorter than K are filled with zeros, which no sum notices.
void read_dense(const JsonNode& node, MmaKind kind, DotProblem& p) {
  p.spec.k96 = p.b.size() == 96 && isa::container_bits(kind) == 4;
  const auto k = std::size_t(isa::mma_k(kind, false, p.spec.k96));
  if (p.b.size() > k)
    node.at("b").fail("must have at most {} elements for {}; got {}", k, isa::spelling(kind), p.b.size());
  if (p.a.size() != p.b.size()) node.at("a").fail("must have {} elements, as b has; got {}", p.b.size(), p.a.size());
  p.a.resize(k), p.b.resize(k);
}

void read_scales(const JsonNode& node, MmaKind kind, DotProblem& p) {
  if (!isa::is_block_scaled(kind)) {
    for (const char* key : {"scale_fmt", "scale_vec", "sa", "sb"})
      node.when(key, [&](const JsonNode& n) { n.fail("{} has no scales", isa::spelling(kind)); });
    return;
  }
  p.spec.scale = read_format(node.at("scale_fmt"));
  const JsonNode count = node.at("scale_vec");
  const int k = isa::mma_k(kind, false, p.spec.k96);
  p.spec.scale_vector = int(count.whole(1, 6));
  const int block = k / p.spec.scale_vector;
  if (!isa::block_scaling(kind, block, p.spec.k96) || block * p.spec.scale_vector != k)
    count.fail("{} with K = {} does not have {} scales", isa::spelling(kind), k, p.spec.scale_vector);
  if (rules::scale_types(kind, block, p.spec.scale, p.spec.scale, p.spec.k96).broken())
    node.at("scale_fmt")
        .fail("{} with {} scales does not take {}", isa::spelling(kind), p.spec.scale_vector,
              isa::spelling(p.spec.scale));
  const auto least = std::size_t(p.spec.scale_vector), most = std::max<std::size_t>(least, isa::scales_per_cell);
  p.scale_a = read_words<u8>(node.at("sa"), least, most, 0xFF);
  p.scale_b = read_words<u8>(node.at("sb"), least, most, 0xFF);
}

// The switches of the instruction descriptor and of enable-input-d and scale-input-d.
void read_switches(const JsonNode& node, MmaKind kind, DotProblem& p) {
  const bool integer = kind == MmaKind::i8;
  node.when("sat", [&](const JsonNode& n) {
    p.spec.saturate = n.truth();
    if (p.spec.saturate && !integer) n.fail("{} does not saturate", isa::spelling(kind));
  });
  const auto negate = [&](const char* key, bool& to) {
    node.when(key, [&](const JsonNode& n) {
      to = n.truth();
      if (to && integer) n.fail("{} does not negate", isa::spelling(kind));
    });
  };
  negate("negate_a", p.spec.negate_a);
  negate("negate_b", p.spec.negate_b);
  node.when("enable_input_d", [&](const JsonNode& n) { p.spec.read_c = n.truth(); });
  node.when("scale_input_d", [&](const JsonNode& n) {
    p.spec.scale_input_d = int(n.whole(0, rules::max_scale_input_d));
    if (kind != MmaKind::f16 && kind != MmaKind::tf32) n.fail("{} does not scale D", isa::spelling(kind));
  });
}

// Words of one tcgen05.mma: K, metadata and scales follow from the kind.
void read_tcgen05(const JsonNode& node, DotProblem& p) {
  const MmaKind kind = read_kind(node.at("kind"));
  p.spec.kind = num::mma_kind(kind);
  check_formats(node, kind, p.spec);
  read_operands(node, p);
  if (node.has("meta"))
    read_sparse(node, kind, p);
  else
    read_dense(node, kind, p);
  read_scales(node, kind, p);
  read_switches(node, kind, p);
}

DotProblem read_problem(const JsonNode& node) {
  DotProblem p = read_header(node);
  if (p.instruction == DotInstruction::tcgen05_mma)
    read_tcgen05(node, p);
  else
    read_operands(node, p);
  return p;
}

}  // namespace

std::vector<DotProblem> read_dot_problems(std::string_view text, const std::string& document) {
  const Json json = parse_json(text, document);
  const JsonNode root(json, document, JsonPath::subscript);
  root.expect_object();
  std::vector<DotProblem> all;
  root.at("vectors").each_element(0, std::size_t{1} << 24,
                                  [&](std::size_t, const JsonNode& node) { all.push_back(read_problem(node)); });
  return all;
}

}  // namespace kiln::harness
