#include "harness/ptxas/ptxas.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <set>

#include "harness/host/files.hpp"
#include "harness/host/process.hpp"
#include "ptx/diag/error.hpp"

#ifndef KILN_PTXAS_PATH
#define KILN_PTXAS_PATH ""
#endif

namespace kiln::harness {
namespace {

constexpr std::chrono::seconds version_timeout{20};

// Reads the number at the start of `text` and steps over it; nothing when there is none.
std::optional<int> take_number(std::string_view& text) {
  int n = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (failed != std::errc{}) return std::nullopt;
  text.remove_prefix(std::size_t(end - text.data()));
  return n;
}

// The version of the ptxas at `path`, or why it will not do.
Ptxas inspect(const std::string& path) {
  Ptxas p;
  const auto refuse = [&](std::string_view why) { return p.missing = fmt::format("{} {}", path, why), p; };
  if (::access(path.c_str(), X_OK) != 0) return refuse("is not executable");
  std::string said;
  try {
    said = run_process({path, "--version"}, version_timeout).out;
  } catch (const diag::InputError&) {
    return refuse("cannot be started");
  }
  const std::size_t at = said.find("release ");
  if (at == std::string::npos) return refuse("does not answer --version as ptxas does");
  std::string_view rest = std::string_view(said).substr(at + 8);
  const auto major = take_number(rest);
  if (rest.starts_with('.')) rest.remove_prefix(1);
  const auto minor = take_number(rest);
  if (!major || !minor || std::pair(*major, *minor) < std::pair(ptxas_major, ptxas_minor))
    return refuse(fmt::format("is of release {}.{}, not {}.{} or later", major.value_or(0), minor.value_or(0),
                              ptxas_major, ptxas_minor));
  const std::size_t v = said.find(", V", at);
  p.version = v == std::string::npos ? fmt::format("{}.{}", *major, *minor)
                                     : said.substr(v + 3, said.find_first_of(" \n", v + 3) - v - 3);
  p.path = path;
  return p;
}

std::vector<std::string> candidates() {
  std::vector<std::string> out;
  if (const std::string found = find_in_path("ptxas"); !found.empty()) out.push_back(found);
  if (const char* home = std::getenv("CUDA_HOME"); home && *home) out.push_back(std::string(home) + "/bin/ptxas");
  out.emplace_back("/usr/local/cuda/bin/ptxas");
  if (const std::string configured = KILN_PTXAS_PATH; !configured.empty()) out.push_back(configured);
  return out;
}

}  // namespace

Ptxas find_ptxas() {
  if (const char* chosen = std::getenv("KILN_PTXAS"); chosen && *chosen) {
    Ptxas p = inspect(chosen);
    if (!p.found()) p.missing = "KILN_PTXAS: " + p.missing;
    return p;
  }
  std::string why;
  for (const std::string& path : candidates()) {
    Ptxas p = inspect(path);
    if (p.found()) return p;
    if (::access(path.c_str(), F_OK) == 0) why += (why.empty() ? "" : "; ") + p.missing;
  }
  Ptxas none;
  none.missing =
      fmt::format("no ptxas of CUDA {}.{} or later in $KILN_PTXAS, $PATH, $CUDA_HOME/bin, /usr/local/cuda/bin{}",
                  ptxas_major, ptxas_minor, why.empty() ? "" : " (" + why + ")");
  return none;
}

namespace {

// Each check is a function of its own that traps, whose name the cubin has.
std::vector<std::string> tensor_memory_checks(const std::vector<std::uint8_t>& cubin) {
  constexpr std::string_view head = "_tcgen05_guardrail_trap_";
  const std::string_view text(reinterpret_cast<const char*>(cubin.data()), cubin.size());
  std::set<std::string> found;
  for (std::size_t at = text.find(head); at != std::string_view::npos; at = text.find(head, at + 1)) {
    const std::string_view name = text.substr(at + head.size());
    const auto ends =
        std::find_if_not(name.begin(), name.end(), [](unsigned char c) { return std::islower(c) || c == '_'; });
    found.emplace(name.begin(), ends);
  }
  return {found.begin(), found.end()};
}

}  // namespace

Assembly assemble(const Ptxas& ptxas, const diag::SourcePtr& source, isa::Target target, diag::Sink& sink,
                  TensorMemoryChecks checks, std::chrono::milliseconds timeout) {
  Assembly a;
  a.reason = ptxas.missing;
  if (!ptxas.found()) return a;
  a.version = ptxas.version;
  const TemporaryFolder folder;
  const std::string input = folder.file("kernel.ptx"), output = folder.file("kernel.cubin");
  write_file(input, source->text());
  std::vector<std::string> command{ptxas.path, "-v", "-arch=" + isa::spelling(target), "-o", output, input};
  if (checks == TensorMemoryChecks::on) command.push_back("--g-tensor-memory-access-check");
  const ProcessResult ran = run_process(command, timeout);
  a.seconds = ran.seconds;
  a.status = Assembly::Status::failed;
  if (ran.timed_out) return a.reason = fmt::format("ptxas did not finish within {} s", timeout.count() / 1000), a;
  if (ran.signal != 0) return a.reason = fmt::format("ptxas was killed by signal {}", ran.signal), a;
  diag::Sink said;
  read_ptxas_output(ran.out + ran.err, source, a.entries, said);
  const bool explained = said.has_errors();
  sink.append(std::move(said));
  if (ran.exit_code == 0) {
    a.cubin = read_file(output);
    a.tensor_memory_checks = tensor_memory_checks(a.cubin);
    a.status = Assembly::Status::assembled;
  } else if (explained) {
    a.status = Assembly::Status::rejected;
  } else {
    a.reason = fmt::format("ptxas ended with exit code {} and said: {}", ran.exit_code, ran.err.substr(0, 500));
  }
  return a;
}

}  // namespace kiln::harness
