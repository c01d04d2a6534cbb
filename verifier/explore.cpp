#include "verifier/explore.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "launch/known_bytes.hpp"
#include "verifier/checks/checks.hpp"
#include "verifier/explore/global.hpp"
#include "verifier/explore/places.hpp"
#include "verifier/explore/report.hpp"
#include "verifier/explore/turn.hpp"
#include "verifier/mistakes.hpp"

namespace kiln::verifier {
namespace {

void add_maps(const launch::Param& p, std::uint32_t at, const launch::Contract& contract,
              std::map<std::uint32_t, launch::TensorMap>& out) {
  if (const auto* named = std::get_if<launch::TensorMapParam>(&p.value))
    if (const auto map = contract.tensor_maps.find(named->tensor_map); map != contract.tensor_maps.end())
      out.emplace(at, map->second);
  if (const auto* fields = std::get_if<launch::StructParam>(&p.value))
    for (const launch::StructField& f : fields->fields) add_maps(f.value, at + f.at, contract, out);
}

explore::Shape shape_of(const launch::Launch& l, const launch::Contract& contract) {
  explore::Shape shape;
  shape.is_of_launch = true;
  shape.grid = {l.grid.x, l.grid.y, l.grid.z};
  shape.cta = {l.block.x, l.block.y, l.block.z};
  shape.dynamic_shared = l.dynamic_smem;
  shape.cluster = {l.cluster.x, l.cluster.y, l.cluster.z};
  for (const launch::Param& p : l.params) shape.parameters.push_back(launch::known_bytes(p));
  for (const launch::Param& p : l.params) add_maps(p, 0, contract, shape.maps.emplace_back());
  shape.content = launch::known_content(contract, l);
  return shape;
}

std::vector<const launch::Launch*> launches_of(const ir::Function& entry, const launch::Contract& contract) {
  std::vector<const launch::Launch*> out;
  for (const launch::Launch& l : contract.launches)
    if (entry.name.find(l.entry) != std::string::npos) out.push_back(&l);
  return out;
}

// What the launches of an entry say; without a contract what else is known of them.
std::vector<explore::Shape> shapes_of(const ir::Function& entry, const launch::Contract* contract,
                                      const LaunchFacts& given) {
  if (!contract) {
    explore::Shape shape;
    if (!entry.find("reqntid")) shape.cta = given.block;
    if (!entry.find("reqnctapercluster")) shape.cluster = given.cluster;
    shape.grid = given.grid;
    shape.dynamic_shared = given.dynamic_shared;
    shape.option = given.option;
    for (const auto& [index, map] : given.boxes) {
      shape.maps.resize(std::max<std::size_t>(shape.maps.size(), index + 1));
      shape.maps[index].emplace(0, map);
    }
    for (const auto& [index, word] : given.parameters) {
      shape.parameters.resize(std::max<std::size_t>(shape.parameters.size(), index + 1));
      for (std::uint32_t byte = 0; byte < sizeof word; ++byte)
        shape.parameters[index][byte] = std::uint8_t(word >> (8 * byte));
    }
    return {shape};
  }
  std::vector<explore::Shape> out;
  for (const launch::Launch* l : launches_of(entry, *contract)) out.push_back(shape_of(*l, *contract));
  return out;
}

void check_prior_grids(const Facts& facts, const launch::Contract* contract, diag::Sink& sink) {
  if (!contract) return check_prior_grid(facts, sink);
  for (const launch::Launch* l : launches_of(facts.function, *contract)) check_prior_grid(facts, *contract, *l, sink);
}

}  // namespace

void find_unordered(const ir::Module& module, diag::Sink& sink, const launch::Contract* contract,
                    const LaunchFacts& given, std::chrono::milliseconds time) {
  std::vector<std::pair<const ir::Function*, std::vector<explore::Shape>>> entries;
  std::size_t left = 0;  // launches to explore
  for (const ir::Item& item : module.items) {
    const auto* f = std::get_if<ir::Function>(&item);
    if (!f || !f->body || !f->entry) continue;
    left += entries.emplace_back(f, shapes_of(*f, contract, given)).second.size();
  }
  const auto now = [] { return WorkClock::now(); };
  const explore::Deadline end = time == no_limit ? explore::no_deadline : now() + time;
  for (const auto& [function, shapes] : entries) {
    if (shapes.empty()) continue;
    diag::Sink said;  // what decoding says was said before
    const Facts facts(module, *function, said);
    check_prior_grids(facts, contract, sink);
    for (const explore::Shape& shape : shapes) {
      // What the ones before have left over is shared between those that are left.
      const auto deadline = time == no_limit ? end : now() + (end - now()) / std::int64_t(left);
      --left;
      std::optional<Facts> of_launch;
      if (!shape.parameters.empty()) of_launch.emplace(module, *function, said, shape.parameters);
      const Facts& known = of_launch ? *of_launch : facts;
      auto program = std::make_unique<const explore::Program>(known, shape);
      explore::Explored explored = explore::explore(*program, deadline);
      // What is taken for its size was too small if addresses lie beyond the cluster.
      for (explore::Shape larger = shape; explored.incomplete == explore::beyond_cluster;) {
        larger.fewest_ctas = 2 * program->ctas;
        auto wider = std::make_unique<const explore::Program>(known, larger);
        if (wider->ctas == program->ctas) break;
        program = std::move(wider);
        explored = explore::explore(*program, deadline);
      }
      const auto chooses = [&](const ir::Operation* op) { return explore::chosen_map(known, *op) != nullptr; };
      const auto& unknown = explored.unknown_copies;
      if (!explored.incomplete.empty() || std::any_of(unknown.begin(), unknown.end(), chooses))
        if (auto by_place = explore::explore_places(*program, deadline)) explored = std::move(*by_place);
      explore::find_premises(*program, explored, deadline);
      if (!contract) explore::find_global_races(*program, explored);
      explore::report(*program, explored, sink);
    }
  }
}

void check_synchronisation(const ir::Module& module, diag::Sink& sink, const launch::Contract* contract,
                           const LaunchFacts& given, std::chrono::milliseconds time) {
  find_unordered(module, sink, contract, given, time);
  gather_mistakes(module, sink);
}

}  // namespace kiln::verifier
