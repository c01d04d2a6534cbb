#include "tools/command/role_waits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "ptx/diag/error.hpp"

namespace kiln::command {
namespace {

constexpr double near = 10;  // points

using Key = std::pair<std::string, std::string>;       // role, mbarrier
using Warp = std::pair<std::uint64_t, std::uint64_t>;  // of a CTA

std::string text_of(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::map<Key, double> waits_of(const nlohmann::json& profile) {
  struct Span {
    double begin = 0, end = 0;
  };
  std::map<std::uint64_t, Span> spans;
  std::map<Key, double> waited;
  std::map<std::string, std::set<Warp>> warps;
  for (const auto& e : profile.at("traceEvents")) {
    if (e.at("ph") != "X") continue;
    const auto cta = e.at("pid").get<std::uint64_t>();
    const double since = e.at("ts").get<double>(), length = e.at("dur").get<double>();
    const auto [at, is_new] = spans.try_emplace(cta, Span{since, since + length});
    at->second = {std::min(at->second.begin, since), std::max(at->second.end, since + length)};
    const auto args = e.find("args");
    if (args == e.end()) continue;
    const std::string role = text_of(*args, "role"), mbarrier = text_of(*args, "mbarrier");
    if (role.empty() || mbarrier.empty()) continue;
    waited[{role, mbarrier.substr(0, mbarrier.find('['))}] += length;
    warps[role].insert({cta, e.at("tid").get<std::uint64_t>()});
  }
  double span = 0;
  for (const auto& [cta, s] : spans) span += (s.end - s.begin) / double(spans.size());
  for (auto& [key, time] : waited) time = span > 0 ? 100 * time / (double(warps[key.first].size()) * span) : 0;
  return waited;
}

std::map<Key, double> waits_of(const std::string& profile) {
  try {
    return waits_of(nlohmann::json::parse(profile));
  } catch (const nlohmann::json::exception& error) {
    throw diag::InputError(fmt::format("no profile: {}", error.what()));
  }
}

}  // namespace

std::vector<RoleWait> role_waits(const std::string& measured, const std::string& predicted) {
  std::map<Key, RoleWait> all;
  const auto of = [&](const Key& key) -> RoleWait& {
    RoleWait& w = all[key];
    w.role = key.first, w.mbarrier = key.second;
    return w;
  };
  for (const auto& [key, part] : waits_of(measured)) of(key).measured = part;
  for (const auto& [key, part] : waits_of(predicted)) of(key).predicted = part;
  std::vector<RoleWait> out;
  for (auto& [key, wait] : all) out.push_back(std::move(wait));
  return out;
}

std::string waits_text(const std::vector<RoleWait>& waits) {
  std::string text = "waits of each role, in percent of its warps' time: measured, predicted\n";
  std::size_t count = 0;
  for (const RoleWait& w : waits) {
    text += fmt::format("  {:<28}{:>7.1f}{:>7.1f}\n", w.role + ", " + w.mbarrier, w.measured, w.predicted);
    count += std::abs(w.measured - w.predicted) <= near;
  }
  return text + fmt::format("  {} of {} are within {} points\n", count, waits.size(), near);
}

std::string with_waits(const std::string& summary, const std::vector<RoleWait>& waits) {
  auto j = nlohmann::ordered_json::parse(summary);
  auto& list = j["role_waits"] = nlohmann::ordered_json::array();
  for (const RoleWait& w : waits)
    list.push_back({{"role", w.role},
                    {"mbarrier", w.mbarrier},
                    {"measured_percent", w.measured},
                    {"predicted_percent", w.predicted}});
  return j.dump(2) + "\n";  // the summary has the version
}

}  // namespace kiln::command
