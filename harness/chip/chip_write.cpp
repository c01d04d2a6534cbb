#include <nlohmann/json.hpp>

#include "harness/chip/chip_json.hpp"
#include "ptx/isa/kind_word.hpp"

namespace kiln::harness {
namespace {

using nlohmann::ordered_json;
using timing::TensorCore;

std::string kind_name(isa::MmaKind kind) {
  const std::string_view word = isa::spelling(kind);
  return std::string(word.substr(word.find("::") + 2));
}

ordered_json json_of(const timing::Fact& f, const timing::FactInfo& info) {
  ordered_json j{{"value", f.value}, {"unit", info.unit}, {"source", f.source}, {"trust", spelling(f.trust)}};
  if (f.spread > 0) j["spread"] = f.spread;
  if (!f.note.empty()) j["note"] = f.note;
  return j;
}

std::vector<int> whole(const std::vector<double>& n) { return {n.begin(), n.end()}; }

ordered_json json_of(const timing::MmaTimes& t) {
  ordered_json kinds = ordered_json::array();
  for (const isa::MmaKind k : t.kinds) kinds.push_back(kind_name(k));
  return {{"kinds", kinds},         {"a", t.a_in_tmem ? "tensor" : "shared"},
          {"cta_group", t.members}, {"m", t.m},
          {"source", t.source},     {"trust", spelling(t.trust)},
          {"n", whole(t.n)},        {"interval", t.interval},
          {"latency", t.latency},   {"refill", t.refill}};
}

ordered_json json_of(const timing::WgmmaTimes& t) {
  return {{"source", t.source}, {"trust", spelling(t.trust)}, {"n", whole(t.n)}, {"interval", t.interval}};
}

}  // namespace

std::string write_chip(const timing::Chip& chip) {
  ordered_json j{{"chip", chip.name}, {"title", chip.title}, {"tensor_core", spelling(chip.core)}};
  for (const timing::Source& s : chip.sources) j["sources"][s.key] = {{"title", s.title}, {"licence", s.licence}};
  for (std::size_t k = 0; k < timing::fact_count; ++k)
    if (const timing::FactInfo& info = timing::facts[k]; info.chips == TensorCore::all || info.chips == chip.core)
      j["facts"][std::string(info.name)] = json_of(chip.values[k], info);
  if (chip.core == TensorCore::tcgen05) {
    for (const timing::MmaTimes& t : chip.mma) j["mma"].push_back(json_of(t));
  } else {
    j["wgmma"] = json_of(chip.wgmma);
  }
  for (const timing::Observation& o : chip.observed)
    j["observed"].push_back({{"what", o.what}, {"value", o.value}, {"unit", o.unit}, {"spread", o.spread}});
  if (chip.gemms) j["gemms"] = chip.gemms->name;
  return j.dump(1) + "\n";
}

}  // namespace kiln::harness
