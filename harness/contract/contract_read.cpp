#include "harness/contract/contract_json.hpp"
#include "harness/contract/contract_reader.hpp"
#include "harness/problem/quantisation.hpp"
#include "ptx/diag/source.hpp"
#include "ptx/isa/launch_limits.hpp"

namespace kiln::harness {
namespace {

using launch::Contract;
using launch::Dim3;

using isa::max_cluster, isa::max_cta_z, isa::max_grid_x, isa::max_grid_yz;
constexpr std::uint64_t max_dynamic_shared = 227 * 1024, max_residents = 32;
constexpr std::size_t max_devices = 1024;  // of a multimem object

void refuse_later_launches(const JsonNode& node) {
  for (const char* key : {"symbols", "preferred_cluster"})
    node.when(key, [key](const JsonNode& v) { v.fail("\"{}\" is not supported yet", key); });
}

Dim3 read_extents(const JsonNode& node, std::uint64_t most_x, std::uint64_t most_y, std::uint64_t most_z) {
  Dim3 d;
  node.each_element(1, 3, [&](std::size_t i, const JsonNode& extent) {
    const std::uint64_t most = i == 0 ? most_x : i == 1 ? most_y : most_z;
    (i == 0 ? d.x : i == 1 ? d.y : d.z) = std::uint32_t(extent.whole(1, most));
  });
  return d;
}

// True where the prior grid is the launch before; else what it touches, by name.
launch::PriorGrid read_prior_grid(const JsonNode& node, const Contract& contract) {
  launch::PriorGrid prior;
  if (node.json().is_boolean()) {
    if (!node.json().get<bool>()) node.fail("is true, or says what the prior grid touches");
    if (contract.launches.empty()) node.fail("there is no launch before this one; say what the prior grid touches");
    return prior;
  }
  node.expect_object({"writes", "reads"});
  const auto names = [&](const char* key, std::vector<std::string>& out) {
    node.when(key, [&](const JsonNode& list) {
      list.each_element(0, 1024,
                        [&](std::size_t, const JsonNode& b) { out.push_back(read_buffer_name(b, contract).name); });
    });
  };
  names("writes", prior.writes);
  names("reads", prior.reads);
  return prior;
}

launch::Launch read_launch(const JsonNode& node, const Contract& contract) {
  launch::Launch l;
  node.when("entry", [&](const JsonNode& v) { l.entry = v.text(); });
  node.when("grid", [&](const JsonNode& v) { l.grid = read_extents(v, max_grid_x, max_grid_yz, max_grid_yz); });
  const JsonNode block = node.at("block");
  const auto threads = std::uint64_t(isa::max_threads_per_cta);
  l.block = read_extents(block, threads, threads, max_cta_z);
  if (l.block.volume() > threads) block.fail("a CTA has at most {} threads; got {}", threads, l.block.volume());
  node.when("cluster", [&](const JsonNode& v) {
    l.cluster = read_extents(v, max_cluster, max_cluster, max_cluster);
    if (l.cluster.volume() > max_cluster)
      v.fail("a cluster has at most {} CTAs; got {}", max_cluster, l.cluster.volume());
    if (l.grid.x % l.cluster.x || l.grid.y % l.cluster.y || l.grid.z % l.cluster.z)
      v.fail("each extent of the grid must be a multiple of the cluster's");
  });
  node.when("dynamic_smem", [&](const JsonNode& v) { l.dynamic_smem = std::uint32_t(v.whole(0, max_dynamic_shared)); });
  node.when("ctas_per_sm", [&](const JsonNode& v) { l.ctas_per_sm = std::uint32_t(v.whole(1, max_residents)); });
  node.when("params", [&](const JsonNode& v) {
    v.each_element(0, 1024, [&](std::size_t, const JsonNode& p) { l.params.push_back(read_param(p, contract)); });
  });
  node.when("pdl", [&](const JsonNode& v) { l.pdl = read_prior_grid(v, contract); });
  return l;
}

// One launch stands at the top of the document; several stand in "launches", and then none at the top.
void read_launches(const JsonNode& root, Contract& contract) {
  if (!root.has("launches")) {
    contract.launches.push_back(read_launch(root, contract));
    return;
  }
  for (const char* key : {"entry", "grid", "block", "cluster", "dynamic_smem", "ctas_per_sm", "params", "pdl"})
    root.when(key, [](const JsonNode& v) { v.fail("stands in each of \"launches\" when there are several"); });
  root.at("launches").each_element(1, 1 << 16, [&](std::size_t, const JsonNode& node) {
    refuse_later_launches(node);
    node.expect_object({"entry", "grid", "block", "cluster", "dynamic_smem", "ctas_per_sm", "params", "pdl"});
    contract.launches.push_back(read_launch(node, contract));
  });
}

// Buffers name others, which may come after them.
void check_quantisations(const JsonNode& buffers, Contract& contract) {
  for (const launch::Buffer& b : contract.buffers)
    if (b.init.quantised) check_at(buffers.at(b.name.c_str()).at("init"), [&] { check_quantisation(contract, b); });
  for (const launch::Buffer& b : contract.buffers)
    if (b.init.quantised) mark_quantised(contract, b);
}

std::vector<std::string> read_multimem(const JsonNode& node, const Contract& contract) {
  std::vector<std::string> buffers;
  node.each_element(1, max_devices, [&](std::size_t, const JsonNode& b) {
    const launch::Buffer& buffer = read_buffer_name(b, contract);
    if (!buffers.empty() && contract.find(buffers.front())->size() != buffer.size())
      b.fail("{} has {} bytes, {} has {}", buffer.name, buffer.size(), buffers.front(),
             contract.find(buffers.front())->size());
    buffers.push_back(buffer.name);
  });
  return buffers;
}

}  // namespace

Contract read_contract(std::string_view text, const std::string& name) {
  const Json json = parse_json(text, name);
  const JsonNode root(json, name);
  root.expect_object();
  refuse_later_launches(root);
  root.expect_object({"entry", "grid", "block", "cluster", "dynamic_smem", "ctas_per_sm", "params", "pdl", "buffers",
                      "multimem", "tensor_maps", "launches", "expect"});
  Contract contract;
  root.when("buffers", [&](const JsonNode& v) {
    v.each_member([&](const std::string& key, const JsonNode& b) { contract.buffers.push_back(read_buffer(key, b)); });
  });
  root.when("buffers", [&](const JsonNode& v) { check_quantisations(v, contract); });
  root.when("multimem", [&](const JsonNode& v) {
    v.each_member([&](const std::string& key, const JsonNode& m) {
      if (contract.find(key)) m.fail("there is a buffer \"{}\" already", key);
      contract.multimems[key] = read_multimem(m, contract);
    });
  });
  root.when("tensor_maps", [&](const JsonNode& v) {
    v.each_member(
        [&](const std::string& key, const JsonNode& m) { contract.tensor_maps[key] = read_tensor_map(m, contract); });
  });
  read_launches(root, contract);
  root.when("expect", [&](const JsonNode& v) {
    v.each_member([&](const std::string& key, const JsonNode& e) {
      contract.expectations.push_back(read_expectation(key, e, contract));
    });
  });
  return contract;
}

Contract read_contract_file(const std::string& path) { return read_contract(diag::Source::read(path)->text(), path); }

}  // namespace kiln::harness
