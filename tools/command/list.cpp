// kiln list: the kernels that this program has.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "dsl/entry.hpp"
#include "tools/command/json.hpp"
#include "tools/command/report/console.hpp"
#include "tools/command/report/kernel_choice.hpp"
#include "tools/command/report/kernels.hpp"
#include "tools/command/subcommands.hpp"

namespace kiln::command {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> target_names(const dsl::Entry& e) {
  std::vector<std::string> names;
  for (isa::Target t : e.targets) names.push_back(isa::spelling(t));
  return names;
}

constexpr const char* gemm_summary = "D = A * B^T of any shape, by the kernel and the strategy that are fastest for it";

// No kernel, but a choice among those of a type.
std::string gemm_listing(std::size_t width) {
  if (gemm_types().empty() || !is_gemm(gemm_name)) return "";
  return fmt::format("{:<{}}  {}\n{:<{}}  --type {}\n", gemm_name, width, gemm_summary, "", width,
                     fmt::join(gemm_types(), ", "));
}

std::string listing() {
  std::size_t width = 0;
  for (const dsl::Entry& e : offered_kernels()) width = std::max(width, e.name.size());
  std::string out = gemm_listing(width);
  for (const dsl::Entry& e : offered_kernels()) {
    out += fmt::format("{:<{}}  {}\n{:<{}}  for {}", e.name, width, e.summary, "", width,
                       fmt::join(target_names(e), ", "));
    for (const dsl::SizeOption& s : e.sizes)
      if (s.standard.is_given()) out += fmt::format(", --{} {}", s.name, text(s.standard));
    if (!e.strategies.empty()) out += ", " + text(e.strategies.front());
    out += '\n';
  }
  return out.empty() ? "this program has no kernels\n" : out;
}

std::string json() {
  Json kernels = Json::array();
  for (const dsl::Entry& e : offered_kernels()) {
    Json sizes = Json::array();
    for (const dsl::SizeOption& s : e.sizes)
      sizes.push_back({{"name", s.name}, {"standard", size_json(s.standard)}, {"help", s.help}});
    Json strategies = Json::array();
    for (const dsl::Strategy& s : e.strategies) {
      Json& one = strategies.emplace_back(Json::object());
      for (const auto& [option, value] : s) one[std::string(option)] = size_json(value);
    }
    kernels.push_back({{"name", e.name},
                       {"summary", e.summary},
                       {"targets", target_names(e)},
                       {"sizes", sizes},
                       {"strategies", strategies}});
  }
  Json types = Json::object();
  for (const std::string_view type : gemm_types())
    for (const dsl::Entry* e : rows_of_type(type)) types[std::string(type)].push_back(e->name);
  return versioned(Json{{"kernels", kernels}, {"gemm", {{"summary", gemm_summary}, {"types", types}}}});
}

}  // namespace

void add_list(const Builder& builder) {
  CLI::App* sub = builder.add("list", "List the kernels", "  kiln list\n  kiln list --json");
  auto as_json = std::make_shared<bool>(false);
  sub->add_flag("--json", *as_json, "print them as JSON");
  sub->callback([as_json, &action = builder.action] {
    action = [as_json] { return print(*as_json ? json() : listing()), int(Exit::clean); };
  });
}

}  // namespace kiln::command
