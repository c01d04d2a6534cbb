// kiln list: the kernels that this program has.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "dsl/entry.hpp"
#include "tools/command/json.hpp"
#include "tools/command/report/console.hpp"
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

std::string listing() {
  std::size_t width = 0;
  for (const dsl::Entry& e : offered_kernels()) width = std::max(width, e.name.size());
  std::string out;
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
  return versioned(Json{{"kernels", kernels}});
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
