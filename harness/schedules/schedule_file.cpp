#include "harness/schedules/schedule_file.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "harness/host/files.hpp"
#include "ptx/diag/refuse.hpp"

namespace kiln::harness {
namespace {

using Json = nlohmann::ordered_json;
using sim::schedule::Decision;
using Kind = Decision::Kind;

constexpr int file_version = 1;
constexpr std::array<const char*, 7> words{"warp", "fragment", "lane", "event", "warp-highest", "peeks", "timeout"};

// FNV-1a: tells texts apart, and is no protection against forgery.
std::string fingerprint(std::string_view text) {
  std::uint64_t h = 0xCBF29CE484222325u;
  for (const unsigned char c : text) h = (h ^ c) * 0x100000001B3u;
  return fmt::format("{:016x}", h);
}

std::string dimensions(launch::Dim3 d) { return fmt::format("{}x{}x{}", d.x, d.y, d.z); }

Json launches_json(const launch::Contract& contract) {
  Json out = Json::array();
  for (const launch::Launch& l : contract.launches)
    out.push_back({{"entry", l.entry},
                   {"grid", dimensions(l.grid)},
                   {"block", dimensions(l.block)},
                   {"cluster", dimensions(l.cluster)}});
  return out;
}

Json decision_json(const Decision& d) {
  const char* word = words[std::size_t(d.kind)];
  switch (d.kind) {
    case Kind::warp:
    case Kind::warp_highest: return {word, d.cta, d.warp, d.count};
    case Kind::fragment:
    case Kind::lane: return {word, d.cta, d.warp, d.lane, d.count};
    case Kind::event: return {word, fmt::format("{:016x}", d.name), d.time};
    case Kind::peeks:
    case Kind::timeout: return Json::array({word});
  }
  return {};
}

Decision decision_of(const Json& j) {
  const auto word = j.at(0).get<std::string>();
  std::size_t kind = 0;
  while (kind < words.size() && word != words[kind]) ++kind;
  if (kind == words.size()) throw diag::InputError("no decision is called '" + word + "'");
  Decision d;
  d.kind = Kind(kind);
  if (d.kind == Kind::event) {
    d.name = std::stoull(j.at(1).get<std::string>(), nullptr, 16);
    d.time = j.at(2).get<std::uint64_t>();
  } else if (d.kind != Kind::timeout && d.kind != Kind::peeks) {
    const bool lane = d.kind == Kind::fragment || d.kind == Kind::lane;
    d.cta = j.at(1).get<std::uint32_t>();
    d.warp = j.at(2).get<std::uint32_t>();
    if (lane) d.lane = j.at(3).get<std::uint32_t>();
    if (d.lane > 31) throw diag::InputError("a warp has lanes 0 to 31");
    d.count = j.at(lane ? 4 : 3).get<std::uint64_t>();
  }
  return d;
}

Json read_json(std::string_view text, const std::string& name) {
  const Json j = Json::parse(text, nullptr, false);
  if (!j.is_object() || !j.contains("kiln_schedule"))
    diag::refuse("{}: is no schedule of `kiln --save-schedule`", name);
  if (j["kiln_schedule"] != file_version)
    diag::refuse("{}: is a schedule of version {}; this Kiln reads version {}", name, j["kiln_schedule"].dump(),
                 file_version);
  return j;
}

std::string text_of(const std::string& path) {
  const auto bytes = read_file(path);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::string schedule_text(const ScheduleFile& file, const diag::Source& ptx, const launch::Contract& contract) {
  Json j = {{"kiln_schedule", file_version},
            {"ptx", fingerprint(ptx.text())},
            {"launches", launches_json(contract)},
            {"seed", file.seed},
            {"clusters", Json::array()}};
  std::string out = j.dump(1);
  out.resize(out.rfind("[]"));
  out += "[";
  const char* between = "\n";
  for (const auto& c : file.recording.clusters) {
    if (c.decisions.empty()) continue;
    out += fmt::format("{}  {{\"launch\": {}, \"cluster\": {}, \"decisions\": [", between, c.launch, c.cluster);
    for (std::size_t k = 0; k < c.decisions.size(); ++k)
      out += fmt::format("{}\n   {}", k ? "," : "", decision_json(c.decisions[k]).dump());
    out += "]}";
    between = ",\n";
  }
  return out + "]\n}\n";
}

ScheduleFile parse_schedule(std::string_view text, const std::string& name) {
  const Json j = read_json(text, name);
  try {
    ScheduleFile file;
    file.seed = j.at("seed").get<std::uint64_t>();
    for (const Json& c : j.at("clusters")) {
      auto& cluster = file.recording.clusters.emplace_back();
      cluster.launch = c.at("launch").get<std::uint32_t>();
      cluster.cluster = c.at("cluster").get<std::uint32_t>();
      for (const Json& d : c.at("decisions")) cluster.decisions.push_back(decision_of(d));
    }
    return file;
  } catch (const std::exception& e) {
    diag::refuse("{}: is a damaged schedule: {}", name, e.what());
  }
}

void write_schedule(const std::string& path, const ScheduleFile& file, const diag::Source& ptx,
                    const launch::Contract& contract) {
  write_file(path, schedule_text(file, ptx, contract));
}

ScheduleFile read_schedule(const std::string& path) { return parse_schedule(text_of(path), path); }

void check_schedule(const std::string& path, const diag::Source& ptx, const launch::Contract& contract) {
  const Json j = read_json(text_of(path), path);
  if (j.value("ptx", "") != fingerprint(ptx.text()))
    diag::refuse("{}: was saved for another PTX text than {}", path, ptx.name());
  if (const Json now = launches_json(contract); !j.contains("launches") || j["launches"] != now)
    diag::refuse("{}: was saved for other launches: {}; now they are {}", path, j.value("launches", Json()).dump(),
                 now.dump());
}

}  // namespace kiln::harness
