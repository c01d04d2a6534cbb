#include "harness/chip/chip_json.hpp"

#include <algorithm>
#include <array>

#include "harness/host/files.hpp"
#include "harness/json/json_node.hpp"
#include "ptx/diag/refuse.hpp"
#include "ptx/isa/kind_word.hpp"

namespace kiln::harness {
namespace {

using timing::Chip;
using timing::TensorCore;
using timing::Trust;

constexpr std::size_t most_points = 64;  // of a table by N
constexpr double largest = 1e12;         // of any fact

Trust read_trust(const JsonNode& node) {
  for (const Trust t : {Trust::a, Trust::b, Trust::c})
    if (node.text() == spelling(t)) return t;
  node.fail("must be \"A\", \"B\" or \"C\"; got {}", node.shown());
}

const std::string& read_source(const JsonNode& node, const Chip& chip) {
  const auto is_named = [&](const timing::Source& s) { return s.key == node.text(); };
  if (std::none_of(chip.sources.begin(), chip.sources.end(), is_named))
    node.fail("must be a key of \"sources\"; got {}", node.shown());
  return node.text();
}

double read_amount(const JsonNode& node) {
  const double value = node.number();
  if (!(value > 0) || value > largest) node.fail("must be a number above 0; got {}", node.shown());
  return value;
}

double read_spread(const JsonNode& node) {
  const double value = node.number();
  if (!(value >= 0) || value > largest) node.fail("must be a number of at least 0; got {}", node.shown());
  return value;
}

timing::Fact read_fact(const JsonNode& node, const timing::FactInfo& info, const Chip& chip) {
  node.expect_object({"value", "unit", "source", "trust", "spread", "note"});
  const JsonNode unit = node.at("unit");
  if (unit.text() != info.unit) unit.fail("must be \"{}\"; got {}", info.unit, unit.shown());
  timing::Fact f{read_amount(node.at("value")), read_trust(node.at("trust")), read_source(node.at("source"), chip)};
  node.when("spread", [&](const JsonNode& n) { f.spread = read_spread(n); });
  node.when("note", [&](const JsonNode& n) { f.note = n.text(); });
  return f;
}

void read_facts(const JsonNode& node, Chip& chip) {
  std::vector<std::string_view> known;
  for (const timing::FactInfo& f : timing::facts)
    if (f.chips == TensorCore::all || f.chips == chip.core) known.push_back(f.name);
  node.expect_object(known);
  for (std::size_t k = 0; k < timing::fact_count; ++k) {
    const timing::FactInfo& info = timing::facts[k];
    if (info.chips == TensorCore::all || info.chips == chip.core)
      chip.values[k] = read_fact(node.at(std::string(info.name).c_str()), info, chip);
  }
}

// One number for each N.
std::vector<double> read_column(const JsonNode& node, std::size_t count) {
  std::vector<double> out;
  node.each_element(count, count, [&](std::size_t, const JsonNode& e) { out.push_back(read_amount(e)); });
  return out;
}

std::vector<double> read_n(const JsonNode& node) {
  std::vector<double> out;
  node.each_element(2, most_points, [&](std::size_t, const JsonNode& e) {
    const auto n = double(e.whole(1, 256));
    if (!out.empty() && n <= out.back()) e.fail("must be larger than the one before; got {}", e.shown());
    out.push_back(n);
  });
  return out;
}

isa::MmaKind read_kind(const JsonNode& node) {
  for (const isa::MmaKind k : isa::mma_kinds)
    if ("kind::" + node.text() == isa::spelling(k)) return k;
  node.fail("must be a kind of tcgen05.mma such as f16; got {}", node.shown());
}

timing::MmaTimes read_mma(const JsonNode& node, const Chip& chip) {
  node.expect_object({"kinds", "a", "cta_group", "m", "source", "trust", "n", "interval", "latency", "refill"});
  timing::MmaTimes t;
  node.at("kinds").each_element(1, isa::mma_kinds.size(),
                                [&](std::size_t, const JsonNode& e) { t.kinds.push_back(read_kind(e)); });
  const JsonNode a = node.at("a");
  if (a.text() != "shared" && a.text() != "tensor") a.fail("must be \"shared\" or \"tensor\"; got {}", a.shown());
  t.a_in_tmem = a.text() == "tensor";
  t.members = int(node.at("cta_group").whole(1, 2));
  t.m = int(node.at("m").whole(32, 256));
  t.trust = read_trust(node.at("trust"));
  t.source = read_source(node.at("source"), chip);
  t.n = read_n(node.at("n"));
  t.interval = read_column(node.at("interval"), t.n.size());
  t.latency = read_column(node.at("latency"), t.n.size());
  t.refill = read_column(node.at("refill"), t.n.size());
  return t;
}

timing::WgmmaTimes read_wgmma(const JsonNode& node, const Chip& chip) {
  node.expect_object({"source", "trust", "n", "interval"});
  timing::WgmmaTimes t;
  t.trust = read_trust(node.at("trust"));
  t.source = read_source(node.at("source"), chip);
  t.n = read_n(node.at("n"));
  t.interval = read_column(node.at("interval"), t.n.size());
  return t;
}

timing::Observation read_observation(const JsonNode& node) {
  node.expect_object({"what", "value", "unit", "spread"});
  return {node.at("what").text(), node.at("unit").text(), node.at("value").number(), read_spread(node.at("spread"))};
}

TensorCore read_core(const JsonNode& node) {
  for (const TensorCore c : {TensorCore::tcgen05, TensorCore::wgmma})
    if (node.text() == spelling(c)) return c;
  node.fail("must be \"tcgen05\" or \"wgmma\"; got {}", node.shown());
}

std::string text_of(const std::string& path) {
  const std::vector<std::uint8_t> bytes = read_file(path);
  return {bytes.begin(), bytes.end()};
}

// The correction that is compiled in, read once.
std::shared_ptr<const timing::Correction> correction_of(const JsonNode& name) {
  constexpr std::string_view known = "h200";
  if (name.text() != known) name.fail("must be \"{}\"; got {}", known, name.shown());
  static const auto h200 =
      std::make_shared<const timing::Correction>(read_correction(chip_text("h200.gemms"), "chips/h200.gemms.json"));
  return h200;
}

constexpr std::array known_chips{"b200", "h200", "h100"};

}  // namespace

Chip read_chip(std::string_view text, const std::string& document) {
  const Json json = parse_json(text, document);
  const JsonNode root(json, document);
  Chip chip;
  const bool has_core = root.json().is_object() && root.has("tensor_core");
  chip.core = has_core ? read_core(root.at("tensor_core")) : TensorCore::tcgen05;
  root.expect_object({"chip", "title", "tensor_core", "sources", "facts",
                      chip.core == TensorCore::tcgen05 ? "mma" : "wgmma", "observed", "gemms"});
  root.at("tensor_core");
  chip.name = root.at("chip").text();
  chip.title = root.at("title").text();
  root.at("sources").each_member([&](const std::string& key, const JsonNode& source) {
    source.expect_object({"title", "licence"});
    chip.sources.push_back({key, source.at("title").text(), source.at("licence").text()});
  });
  read_facts(root.at("facts"), chip);
  if (chip.core == TensorCore::tcgen05)
    root.at("mma").each_element(1, 1000,
                                [&](std::size_t, const JsonNode& row) { chip.mma.push_back(read_mma(row, chip)); });
  else
    chip.wgmma = read_wgmma(root.at("wgmma"), chip);
  root.when("observed", [&](const JsonNode& all) {
    all.each_element(0, 1000, [&](std::size_t, const JsonNode& o) { chip.observed.push_back(read_observation(o)); });
  });
  root.when("gemms", [&](const JsonNode& name) { chip.gemms = correction_of(name); });
  return chip;
}

Chip chip_of(const std::string& name) {
  if (name.ends_with(".json")) return read_chip(text_of(name), name);
  const std::string_view text = chip_text(name);
  if (text.empty())
    diag::refuse("no chip is named '{}'; known are {}, or a file.json", name, fmt::join(known_chips, ", "));
  return read_chip(text, name);
}

std::optional<std::string> chip_of_device(std::string_view device) {
  for (const auto& [word, chip] : {std::pair{"H200", "h200"}, {"H100", "h100"}, {"B200", "b200"}})
    if (device.find(word) != std::string_view::npos) return chip;
  return std::nullopt;
}

}  // namespace kiln::harness
