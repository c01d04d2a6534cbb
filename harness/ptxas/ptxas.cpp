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
#include "harness/ptxas/configured.hpp"
#include "ptx/diag/error.hpp"
#include "ptx/isa/ptx_versions.hpp"
#include "ptx/isa/ptxas_version.hpp"

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

std::vector<std::string> candidates() {
  std::vector<std::string> out = find_all_in_path("ptxas");
  if (const char* home = std::getenv("CUDA_HOME"); home && *home) out.push_back(std::string(home) + "/bin/ptxas");
  for (const char* place : {"nvidia/*/bin/ptxas", "triton/backends/nvidia/bin/ptxas-blackwell"})
    for (std::string& path : find_all_in_python_packages(place)) out.push_back(std::move(path));
  out.emplace_back("/usr/local/cuda/bin/ptxas");
  if (const std::string configured = configured_ptxas(); !configured.empty()) out.push_back(configured);
  return out;
}

}  // namespace

Ptxas inspect_ptxas(const std::string& path) {
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

Ptxas find_ptxas() {
  if (const char* chosen = std::getenv("KILN_PTXAS"); chosen && *chosen) {
    Ptxas p = inspect_ptxas(chosen);
    if (!p.found()) p.missing = "KILN_PTXAS: " + p.missing;
    return p;
  }
  std::string why;
  for (const std::string& path : candidates()) {
    Ptxas p = inspect_ptxas(path);
    if (p.found()) return p;
    if (::access(path.c_str(), F_OK) == 0) why += (why.empty() ? "" : "; ") + p.missing;
  }
  Ptxas none;
  none.missing = fmt::format(
      "no ptxas of CUDA {}.{} or later in $KILN_PTXAS, $PATH, $CUDA_HOME/bin, Python packages beside kiln, "
      "/usr/local/cuda/bin{}",
      ptxas_major, ptxas_minor, why.empty() ? "" : " (" + why + ")");
  return none;
}

// What ptxas -v prints, line by line:
//
//   ptxas FILE, line 8; error   : Arguments mismatch for instruction 'mov'
//   ptxas info    : Compiling entry function 'k' for 'sm_100a'
//       0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
//   ptxas info    : Used 8 registers, used 0 barriers, 1024 bytes smem
namespace {

struct Message {
  std::string_view severity{};  // "error", "warning", "info", "fatal"
  std::string_view text{};
  int line = 0;  // 0: none
};

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front()))) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back()))) s.remove_suffix(1);
  return s;
}

int number_at(std::string_view s) {
  int n = 0;
  std::from_chars(s.data(), s.data() + s.size(), n);
  return n;
}

std::optional<Message> read_message(std::string_view line) {
  if (!line.starts_with("ptxas ")) return std::nullopt;
  for (std::string_view severity : {"error", "warning", "fatal", "info"}) {
    // After "ptxas " or "line 8; ", and nowhere else: a file's name may well contain "error :".
    for (std::size_t at = line.find(severity); at != std::string_view::npos; at = line.find(severity, at + 1)) {
      const std::size_t colon = line.find_first_not_of(' ', at + severity.size());
      if ((at != 6 && line.substr(at - 2, 2) != "; ") || colon == std::string_view::npos || line[colon] != ':')
        continue;
      Message m{severity, trimmed(line.substr(colon + 1)), 0};
      const std::string_view head = line.substr(0, at);
      if (const std::size_t where = head.rfind(", line "); where != std::string_view::npos)
        m.line = number_at(head.substr(where + 7));
      return m;
    }
  }
  return std::nullopt;
}

// The place that a message is about: the first quoted name that stands on its line, else the line without its indent.
diag::Place place_of(const Message& m, const diag::Source& source) {
  const std::string_view line = source.line(m.line);
  if (line.empty()) return {};
  const auto start = std::uint32_t(line.data() - source.text().data());
  const std::size_t open = m.text.find('\''), close = m.text.find('\'', open + 1);
  if (open != std::string_view::npos && close != std::string_view::npos && close > open + 1) {
    const std::string_view name = m.text.substr(open + 1, close - open - 1);
    if (const std::size_t at = line.find(name); at != std::string_view::npos)
      return {start + std::uint32_t(at), start + std::uint32_t(at + name.size())};
  }
  const std::string_view code = trimmed(line);
  const auto begin = start + std::uint32_t(code.data() - line.data());
  return {begin, begin + std::uint32_t(code.size())};
}

// "Unknown symbol 'x'" reads "unknown symbol 'x'"; "SM version" stays.
std::string sentence(std::string_view text) {
  std::string s(text);
  const bool acronym = s.size() > 1 && std::isupper(static_cast<unsigned char>(s[1]));
  if (!s.empty() && !acronym) s[0] = char(std::tolower(static_cast<unsigned char>(s[0])));
  return s;
}

void report(const Message& m, const diag::SourcePtr& source, diag::Sink& sink) {
  if (m.text.starts_with("Ptx assembly aborted")) return;  // says only that there were errors
  diag::Diagnostic d;
  d.severity = m.severity == "warning" || m.severity == "info" ? diag::Severity::note : diag::Severity::error;
  d.slug = "ptxas";
  d.message = sentence(m.text);
  d.where = diag::Where::at(source, m.line > 0 && source ? place_of(m, *source) : diag::Place{});
  d.reference = "ptxas";
  sink.report(std::move(d));
}

// The number before `unit` in a list such as "Used 8 registers, 16 bytes smem".
std::uint64_t amount(std::string_view text, std::string_view unit) {
  const std::size_t at = text.find(unit);
  if (at == std::string_view::npos || at == 0) return 0;
  std::size_t begin = at;
  while (begin > 0 && text[begin - 1] == ' ') --begin;
  const std::size_t end = begin;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(text[begin - 1]))) --begin;
  std::uint64_t n = 0;
  std::from_chars(text.data() + begin, text.data() + end, n);
  return n;
}

std::string quoted(std::string_view text) {
  const std::size_t open = text.find('\''), close = text.find('\'', open + 1);
  return close == std::string_view::npos ? std::string() : std::string(text.substr(open + 1, close - open - 1));
}

// Messages that only carry figures; false for what a person should read.
bool read_figures(std::string_view text, std::vector<EntryResources>& entries, bool& in_entry) {
  if (text.starts_with("Compiling entry function")) {
    entries.push_back({quoted(text), 0, 0, 0, 0, 0});
    in_entry = true;
  } else if (text.starts_with("Function properties for ")) {
    in_entry = !entries.empty() && text.substr(24) == entries.back().name;
  } else if (text.starts_with("Used ") && !entries.empty()) {
    entries.back().registers = int(amount(text, "registers"));
    entries.back().shared_bytes = amount(text, "bytes smem");
  } else {
    return text.starts_with("Compile time") || text.find("bytes gmem") != std::string_view::npos;
  }
  return true;
}

}  // namespace

void read_ptxas_output(std::string_view text, const diag::SourcePtr& source, std::vector<EntryResources>& entries,
                       diag::Sink& sink) {
  bool in_entry = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (const auto message = read_message(line)) {
      if (message->severity == "info" && read_figures(message->text, entries, in_entry)) continue;
      report(*message, source, sink);
    } else if (in_entry && line.find("bytes stack frame") != std::string_view::npos) {
      entries.back().stack_bytes = amount(line, "bytes stack frame");
      entries.back().spill_store_bytes = amount(line, "bytes spill stores");
      entries.back().spill_load_bytes = amount(line, "bytes spill loads");
    }
  }
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

// The `.version` of a text; {0, 0} where no line begins with one.
isa::PtxVersion version_of(std::string_view text) {
  constexpr std::string_view word = ".version";
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    if (at != 0 && text[at - 1] != '\n') continue;
    std::string_view rest = trimmed(text.substr(at + word.size(), 16));
    const auto major = take_number(rest);
    if (rest.starts_with('.')) rest.remove_prefix(1);
    return {major.value_or(0), take_number(rest).value_or(0)};
  }
  return {};
}

// What a text or its target asks for that came after this ptxas, as a reason; empty: nothing.
std::string too_new(const Ptxas& ptxas, std::string_view text, isa::Target target) {
  const auto release = isa::parse_ptxas_version(ptxas.version);
  if (!release) return {};
  const isa::PtxVersion known = isa::newest_version_of(*release);
  const isa::PtxVersion wanted = std::max(version_of(text), isa::lowest_version(target));
  if (wanted <= known || wanted > isa::newest_version) return {};
  return fmt::format("ptxas {} takes PTX up to {}; {} here needs {}", ptxas.version, isa::spelling(known),
                     isa::spelling(target), isa::spelling(wanted));
}

}  // namespace

Assembly assemble(const Ptxas& ptxas, const diag::SourcePtr& source, isa::Target target, diag::Sink& sink,
                  TensorMemoryChecks checks, std::chrono::milliseconds timeout) {
  Assembly a;
  a.reason = ptxas.missing;
  if (!ptxas.found()) return a;
  a.version = ptxas.version;
  if (a.reason = too_new(ptxas, source->text(), target); !a.reason.empty()) return a;
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
