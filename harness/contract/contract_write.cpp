#include <fmt/format.h>

#include <cmath>

#include "harness/contract/contract_json.hpp"
#include "harness/contract/contract_reader.hpp"
#include "harness/json/json_node.hpp"
#include "harness/problem/element.hpp"
#include "harness/problem/attention_parts.hpp"
#include "harness/problem/epilogue.hpp"

namespace kiln::harness {
namespace {

using launch::Contract;
using launch::Init;

Json quantised_json(Json source, const launch::Quantisation& q) {
  Json j = {{"quantised", std::move(source)}};
  if (!q.scales.empty()) j["scales"] = q.scales;
  if (q.block != 0) j["block"] = q.block;
  if (!q.global.empty()) j["global"] = q.global;
  if (!q.metadata.empty()) j["metadata"] = q.metadata;
  if (q.mma_k != 0) j["mma_k"] = q.mma_k;
  return j;
}

// Whole numbers as such, if a double has them all up to there.
Json values_json(const std::vector<double>& values) {
  Json out = Json::array();
  for (const double v : values) {
    const bool is_whole = std::trunc(v) == v && std::abs(v) <= double(max_exact_integer);
    is_whole ? out.push_back(std::int64_t(v)) : out.push_back(v);
  }
  return out;
}

Json init_json(const Init& init) {
  const auto random = [&](const char* key, Json value) { return Json{{key, std::move(value)}, {"seed", init.seed}}; };
  if (init.quantised) {
    Init source = init;
    source.quantised.reset();
    return quantised_json(init_json(source), *init.quantised);
  }
  switch (init.kind) {
    case Init::Kind::zeros: return "zeros";
    case Init::Kind::poison:
    case Init::Kind::quantised: return "poison";
    case Init::Kind::normal: return random("normal", init.high);
    case Init::Kind::uniform: return random("uniform", Json::array({init.low, init.high}));
    case Init::Kind::integers:
      return random("integers", Json::array({std::int64_t(init.low), std::int64_t(init.high)}));
    case Init::Kind::npy: return {{"npy", init.text}};
    case Init::Kind::hex: return {{"hex", init.text}};
    case Init::Kind::values: return {{"values", values_json(init.values)}};
  }
  return {};
}

Json buffer_json(const launch::Buffer& b) {
  Json j = {{"dtype", isa::spelling(b.dtype)}, {"shape", b.shape}, {"init", init_json(b.init)}};
  if (!b.out.empty()) j["out"] = b.out;
  return j;
}

Json tensor_map_json(const launch::TensorMap& m) {
  const auto extents = [&](const auto& values, int from) {
    Json a = Json::array();
    for (int i = from; i < m.rank; ++i) a.push_back(values[std::size_t(i)]);
    return a;
  };
  Json j = {{"buffer", m.buffer},
            {"dtype", isa::spelling(m.dtype)},
            {"dims", extents(m.dims, 0)},
            {"strides", extents(m.strides, 1)},
            {"box", extents(m.box, 0)},
            {"element_strides", extents(m.element_strides, 0)},
            {"swizzle", isa::spelling(m.swizzle)},
            {"interleave", "none"},
            {"oob", m.oob == launch::OutOfBounds::zero ? "zero" : "nan"}};
  j["offset"] = m.offset;
  if (m.padded) j["align"] = "16B";
  if (m.im2col) {
    j.erase("box");
    const auto corners = [&](const auto& values) {
      const int count = m.im2col->walk == isa::Im2colWalk::window ? m.rank - 2 : 1;
      return Json(std::vector<int>(values.begin(), values.begin() + count));
    };
    j["im2col"] = {
        {"lower", corners(m.im2col->lower)}, {"upper", corners(m.im2col->upper)}, {"channels", m.im2col->channels}};
    if (m.im2col->walk != isa::Im2colWalk::row_128) j["im2col"]["pixels"] = m.im2col->pixels;
    if (m.im2col->walk != isa::Im2colWalk::window) j["im2col"]["walk"] = isa::spelling(m.im2col->walk);
  }
  return j;
}

std::string hex(const std::vector<std::uint8_t>& bytes) {
  std::string text;
  for (std::uint8_t b : bytes) text += fmt::format("{:02x}", b);
  return text;
}

Json param_json(const launch::Param& param);

struct ParamWriter {
  Json operator()(const launch::ScalarParam& p) const {
    const std::string key(isa::spelling(p.type));
    const double value = element_value(p.type, p.bits);
    if (isa::is_floating(p.type) && std::isfinite(value)) return {{key, value}};
    if (isa::is_signed(p.type)) return {{key, std::int64_t(value)}};
    if (type_class(p.type) == isa::TypeClass::unsigned_integer) return {{key, p.bits}};
    std::vector<std::uint8_t> bytes(std::size_t(isa::bits(p.type) / 8));
    store_element(bytes, p.type, 0, p.bits);
    return {{"hex", hex(bytes)}};
  }
  Json operator()(const launch::PointerParam& p) const {
    Json j = {{"buffer", p.buffer}};
    if (p.offset != 0) j["offset"] = p.offset;
    return j;
  }
  Json operator()(const launch::TensorMapParam& p) const { return {{"tensor_map", p.tensor_map}}; }
  Json operator()(const launch::BytesParam& p) const { return {{"hex", hex(p.bytes)}}; }
  Json operator()(const launch::StructParam& p) const {
    Json fields = Json::array();
    for (const auto& [at, field] : p.fields) {
      Json j = {{"at", at}};
      j.update(param_json(field));
      fields.push_back(std::move(j));
    }
    return {{"struct", std::move(fields)}, {"size", p.size}};
  }
};

Json param_json(const launch::Param& param) { return std::visit(ParamWriter{}, param.value); }

Json launch_json(const launch::Launch& l) {
  const auto extents = [](const launch::Dim3& d) { return Json::array({d.x, d.y, d.z}); };
  Json j = Json::object();
  if (!l.entry.empty()) j["entry"] = l.entry;
  j["grid"] = extents(l.grid);
  j["block"] = extents(l.block);
  j["cluster"] = extents(l.cluster);
  j["dynamic_smem"] = l.dynamic_smem;
  if (l.ctas_per_sm) j["ctas_per_sm"] = l.ctas_per_sm;
  j["params"] = Json::array();
  for (const launch::Param& p : l.params) j["params"].push_back(param_json(p));
  if (l.pdl) j["pdl"] = {{"writes", l.pdl->writes}, {"reads", l.pdl->reads}};
  return j;
}

Json gemm_json(const launch::Expectation& e) {
  Json j = {{"a", e.a}, {"b", e.b}};
  if (e.a_transposed) j["a_transposed"] = true;
  if (e.b_transposed) j["b_transposed"] = true;
  if (!e.sfa.empty()) j["sfa"] = e.sfa;
  if (!e.sfb.empty()) j["sfb"] = e.sfb;
  if (e.block != 0) j["block"] = e.block;
  if (!e.sfd.empty()) j["sfd"] = e.sfd;
  if (e.norm != 0) j["norm"] = e.norm;
  if (!e.metadata.empty()) j["metadata"] = e.metadata;
  if (!e.factors.empty()) j["factors"] = e.factors;
  if (!e.c.empty()) j["c"] = e.c;
  if (!e.beta.empty()) j["beta"] = e.beta;
  if (!e.bias.empty()) j["bias"] = e.bias;
  if (!e.groups.empty()) j["groups"] = e.groups;
  if (!e.lengths.empty()) j["lengths"] = e.lengths;
  if (e.activation != launch::Activation::none) j["activation"] = spelling(e.activation);
  if (e.accumulate != isa::ScalarType::f32) j["accumulate"] = isa::spelling(e.accumulate);
  if (e.saturate) j["saturate"] = true;
  if (e.mma_k != 0) j["mma_k"] = e.mma_k;
  if (e.width != 0) j["width"] = e.width;
  return j;
}

Json swiglu_json(const launch::Expectation& e) {
  Json j = {{"a", e.a}, {"gate", e.b}, {"up", e.c}};
  if (e.sfa.empty()) return j;
  j.update({{"sfa", e.sfa}, {"sf_gate", e.sfb}, {"sf_up", e.sfc}, {"block", e.block}});
  if (e.mma_k != 0) j["mma_k"] = e.mma_k;
  return j;
}

Json attention_json(const launch::Expectation& e) {
  Json j = {{"q", e.a}, {"k", e.b}, {"v", e.c}};
  if (e.scale != 0) j["scale"] = e.scale;
  if (e.causal) j["causal"] = true;
  if (e.window != 0) j["window"] = e.window;
  if (!e.row_offsets.empty()) j["row_offsets"] = e.row_offsets;
  if (!e.key_offsets.empty()) j["key_offsets"] = e.key_offsets;
  if (!e.pages.empty()) j["pages"] = e.pages;
  if (!e.lengths.empty()) j["lengths"] = e.lengths;
  if (e.result != launch::AttentionResult::o) j["result"] = spelling(e.result);
  if (!e.o.empty()) j["o"] = e.o;
  if (!e.d_o.empty()) j["do"] = e.d_o;
  if (!e.log_sums.empty()) j["log_sums"] = e.log_sums;
  if (!e.row_terms.empty()) j["row_terms"] = e.row_terms;
  return j;
}

Json expectation_json(const launch::Expectation& e) {
  using Kind = launch::Expectation::Kind;
  Json j;
  switch (e.kind) {
    case Kind::gemm: j["gemm"] = gemm_json(e); break;
    case Kind::copy: j["copy"] = e.a; break;
    case Kind::attention: j["attention"] = attention_json(e); break;
    case Kind::convolution: j["convolution"] = {{"weights", e.a}, {"inputs", e.b}, {"sequence", e.sequence}}; break;
    case Kind::swiglu: j["swiglu"] = swiglu_json(e); break;
    case Kind::absmax: j["absmax"] = {{"a", e.a}, {"b", e.b}, {"block", e.block}}; break;
    case Kind::scales: j["scales_of"] = e.a; break;
  }
  if (e.zeros_before > 0) j["zeros_before"] = e.zeros_before;
  if (e.rtol > 0) j["rtol"] = e.rtol;
  return j;
}

// A blank after each comma and colon outside of strings.
std::string spaced(const std::string& json) {
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    out += json[i];
    if (json[i] == '\\')
      out += json[++i];
    else if (json[i] == '"')
      quoted = !quoted;
    else if (!quoted && (json[i] == ',' || json[i] == ':'))
      out += ' ';
  }
  return out;
}

// JSON with one line for what fits one, as a person would write it.
std::string pretty(const Json& j, std::size_t indent) {
  constexpr std::size_t width = 110;
  std::string line = j.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (!j.is_structured() || j.empty() || (line.size() + indent <= width && (indent > 2 || j.is_array())))
    return spaced(line);
  const std::string margin(indent + 2, ' ');
  std::string out = j.is_object() ? "{\n" : "[\n";
  std::size_t left = j.size();
  for (const auto& item : j.items()) {
    out += margin;
    if (j.is_object()) out += Json(item.key()).dump(-1, ' ', false, Json::error_handler_t::replace) + ": ";
    out += pretty(item.value(), indent + 2) + (--left ? ",\n" : "\n");
  }
  return out + std::string(indent, ' ') + (j.is_object() ? "}" : "]");
}

}  // namespace

std::string write_contract(const Contract& contract) {
  Json j = Json::object();
  if (contract.launches.size() == 1) j = launch_json(contract.launches[0]);
  j["buffers"] = Json::object();
  for (const launch::Buffer& b : contract.buffers) j["buffers"][b.name] = buffer_json(b);
  if (!contract.multimems.empty()) j["multimem"] = contract.multimems;
  for (const auto& [name, map] : contract.tensor_maps) j["tensor_maps"][name] = tensor_map_json(map);
  if (contract.launches.size() > 1)
    for (const launch::Launch& l : contract.launches) j["launches"].push_back(launch_json(l));
  for (const launch::Expectation& e : contract.expectations) j["expect"][e.output] = expectation_json(e);
  return pretty(j, 0) + "\n";
}

}  // namespace kiln::harness
