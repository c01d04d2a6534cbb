// kiln doctor: what of the surroundings is there, and what goes without the rest.
#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/gpu/cuda_device.hpp"
#include "harness/host/files.hpp"
#include "harness/host/process.hpp"
#include "harness/ptxas/ptxas.hpp"
#include "ptx/diag/error.hpp"
#include "tools/command/inputs.hpp"
#include "tools/command/json.hpp"
#include "tools/command/report/console.hpp"
#include "tools/command/report/version.hpp"
#include "tools/command/subcommands.hpp"

namespace kiln::command {
namespace {

constexpr const char* doctor_examples =
    "  kiln doctor           a line for each thing, and what does not work without it\n"
    "  kiln doctor --json    for a program\n\n"
    "kiln check, sim, time, map and explain need nothing. The exit code is 1 only if something is broken: a\n"
    "$KILN_PTXAS that is none, a folder for temporary files that cannot be written.";

// Missing: Kiln does less. Broken: a setting names it, or every system has it.
enum class State : std::uint8_t { found, missing, broken };

struct Surrounding {
  const char* name;
  State state;
  std::string is;       // what was found, or why nothing was
  const char* without;  // what does not work without it
};

const char* spelling(State s) {
  switch (s) {
    case State::found: return "found";
    case State::missing: return "missing";
    case State::broken: return "broken";
  }
  return "";
}

Surrounding ptxas() {
  constexpr const char* without = "kiln ptxas, gpu, emit --format cubin, and what check --lint says of registers";
  const harness::Ptxas found = harness::find_ptxas();
  if (found.found()) return {"ptxas", State::found, fmt::format("{} {}", found.version, found.path), without};
  const char* named = std::getenv("KILN_PTXAS");
  return {"ptxas", named && *named ? State::broken : State::missing, found.missing, without};
}

Surrounding gpu() {
  constexpr const char* without = "kiln gpu, run --backend cuda and time --calibrate";
  try {
    const harness::Gpu device;
    return {"GPU", State::found, fmt::format("{} ({})", device.name(), device.architecture()), without};
  } catch (const diag::InputError& error) {
    return {"GPU", State::missing, error.what(), without};
  }
}

Surrounding compiler() {
  constexpr const char* without = "kernels of your own in C++";
  for (const char* name : {"g++", "clang++", "c++"})
    if (const std::string path = harness::find_in_path(name); !path.empty())
      return {"C++ compiler", State::found, path, without};
  return {"C++ compiler", State::missing, "no g++, clang++ or c++ in $PATH", without};
}

Surrounding cuda_tool(const char* name, const char* without) {
  const std::string path = find_cuda_tool(name);
  return path.empty() ? Surrounding{name, State::missing,
                                    fmt::format("no {} in {}", name, cuda_tool_places), without}
                      : Surrounding{name, State::found, path, without};
}

Surrounding temporary_files() {
  constexpr const char* without = "kiln ptxas, gpu, emit --format cubin";
  try {
    const std::string path = harness::TemporaryFolder().path();
    return {"temporary files", State::found, path.substr(0, path.rfind('/')), without};
  } catch (const diag::InputError& error) {
    return {"temporary files", State::broken, error.what(), without};
  }
}

std::string surroundings_text(const std::vector<Surrounding>& all) {
  std::string out = fmt::format("kiln {}\n", version());
  for (const Surrounding& s : all) {
    out += fmt::format("{:<16} {:<8} {}\n", s.name, spelling(s.state), s.is);
    if (s.state != State::found) out += fmt::format("{:<16} {:<8} does not work: {}\n", "", "", s.without);
  }
  return out;
}

std::string surroundings_json(const std::vector<Surrounding>& all) {
  nlohmann::ordered_json j = {{"surroundings", nlohmann::ordered_json::array()}};
  for (const Surrounding& s : all)
    j["surroundings"].push_back({{"name", s.name}, {"state", spelling(s.state)}, {"is", s.is}, {"without", s.without}});
  return versioned(j);
}

int doctor(bool as_json) {
  const std::vector<Surrounding> all{ptxas(),
                                     gpu(),
                                     cuda_tool("nvcc", "kiln check of .cu files"),
                                     cuda_tool("cuobjdump", "kiln check of .cubin and .fatbin files"),
                                     compiler(),
                                     temporary_files()};
  print(as_json ? surroundings_json(all) : surroundings_text(all));
  for (const Surrounding& s : all)
    if (s.state == State::broken) return Exit::errors;
  return Exit::clean;
}

}  // namespace

void add_doctor(const Builder& builder) {
  CLI::App* sub = builder.add("doctor", "Say what of the surroundings is missing", doctor_examples);
  auto as_json = std::make_shared<bool>(false);
  sub->add_flag("--json", *as_json, "print it as JSON");
  sub->callback([as_json, &action = builder.action] { action = [as_json] { return doctor(*as_json); }; });
}

}  // namespace kiln::command
