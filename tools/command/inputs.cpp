#include "tools/command/inputs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "harness/host/files.hpp"
#include "harness/host/process.hpp"
#include "ptx/diag/error.hpp"
#include "tools/command/kernel_text.hpp"
#include "tools/command/read_source.hpp"

namespace kiln::command {
namespace {

namespace fs = std::filesystem;
using Kind = Input::Kind;

constexpr std::chrono::minutes most_time{10};  // for one file; templates may take minutes

std::optional<Kind> kind_by_name(const fs::path& path) {
  const std::string end = path.extension().string();
  if (end == ".ptx") return Kind::ptx;
  if (end == ".cu") return Kind::cuda;
  if (end == ".cubin" || end == ".fatbin") return Kind::binary;
  return std::nullopt;
}

// ELF, or a fatbin by itself.
bool is_binary(const std::string& path) {
  std::array<char, 4> magic{};
  std::ifstream file(path, std::ios::binary);
  file.read(magic.data(), magic.size());
  return magic == std::array{'\x7f', 'E', 'L', 'F'} || magic == std::array{'\x50', '\xed', '\x55', '\xba'};
}

Kind kind_of(const std::string& path) {
  if (path == "-") return Kind::ptx;
  if (names_kernel(path)) return Kind::kernel;
  if (const auto kind = kind_by_name(path)) return *kind;
  std::error_code status;
  return fs::is_regular_file(path, status) && is_binary(path) ? Kind::binary : Kind::ptx;
}

std::vector<Input> in_folder(const std::string& folder) {
  std::vector<Input> out;
  std::error_code status;
  fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, status);
  for (; !status && it != fs::recursive_directory_iterator(); it.increment(status)) {
    const bool is_hidden = it->path().filename().string().starts_with('.');
    std::error_code unknown;
    if (is_hidden && it->is_directory(unknown)) it.disable_recursion_pending();
    if (const auto kind = kind_by_name(it->path()); kind && !is_hidden && it->is_regular_file(unknown))
      out.push_back({it->path().lexically_normal().string(), *kind});
  }
  if (status) throw diag::InputError(fmt::format("{}: {}", folder, status.message()));
  if (out.empty()) throw diag::InputError(fmt::format("{}: no .ptx, .cu, .cubin or .fatbin file is in it", folder));
  std::sort(out.begin(), out.end(), [](const Input& a, const Input& b) { return a.path < b.path; });
  return out;
}

std::string cuda_tool(const std::string& name) {
  std::string found = find_cuda_tool(name);
  if (found.empty())
    throw NotExtracted{fmt::format("no {} in {}", name, cuda_tool_places)};
  return found;
}

// The first line that says what is wrong, or the first line.
std::string complaint(const harness::ProcessResult& result) {
  if (result.timed_out) return fmt::format("takes more than {} minutes", most_time.count());
  std::string_view said = result.err.empty() ? result.out : result.err;
  if (const std::size_t at = said.find("error"); at != said.npos) {
    const std::size_t begin = said.rfind('\n', at);
    said.remove_prefix(begin == said.npos ? 0 : begin + 1);
  }
  return said.empty() ? fmt::format("ends with exit code {}", result.exit_code)
                      : std::string(said.substr(0, said.find('\n')));
}

std::vector<diag::SourcePtr> compiled(const std::string& path, const std::vector<std::string>& nvcc_options) {
  const harness::TemporaryFolder folder;
  const std::string output = folder.file("out.ptx");
  std::vector<std::string> call{cuda_tool("nvcc"), "-ptx", "-lineinfo", path, "-o", output};
  call.insert(call.end(), nvcc_options.begin(), nvcc_options.end());
  const harness::ProcessResult result = harness::run_process(call, most_time);
  if (result.exit_code != 0) throw NotExtracted{fmt::format("nvcc: {}", complaint(result))};
  return {std::make_shared<const diag::Source>(path + "(ptx)", std::string(read_source(output)->text()))};
}

// cuobjdump prints a header with the architecture, then the text, for one PTX after the other.
std::vector<diag::SourcePtr> extracted(const std::string& path) {
  constexpr std::string_view header = "\nFatbin ptx code:", architecture = "\narch = ", begin = "\n.version";
  const harness::ProcessResult result = harness::run_process({cuda_tool("cuobjdump"), "--dump-ptx", path}, most_time);
  if (result.exit_code != 0) throw NotExtracted{fmt::format("cuobjdump: {}", complaint(result))};
  std::vector<diag::SourcePtr> out;
  const std::string said = "\n" + result.out;
  for (std::size_t at = said.find(header); at != said.npos;) {
    const std::size_t next = said.find("\nFatbin ", at + 1);
    const std::string_view part = std::string_view(said).substr(at, next == said.npos ? next : next - at);
    at = said.find(header, at + 1);
    const std::size_t arch = part.find(architecture), text = part.find(begin);
    if (arch == part.npos || text == part.npos) continue;
    const std::string_view named = part.substr(arch + architecture.size());
    out.push_back(std::make_shared<const diag::Source>(
        fmt::format("{}({}.{})", path, out.size() + 1, named.substr(0, named.find('\n'))),
        std::string(part.substr(text + 1))));
  }
  if (out.empty()) throw NotExtracted{"no PTX is in it"};
  return out;
}

}  // namespace

std::string find_cuda_tool(const std::string& name) {
  if (std::string found = harness::find_in_path(name); !found.empty()) return found;
  std::vector<std::string> places = harness::find_all_in_python_packages("nvidia/*/bin/" + name);
  if (const char* home = std::getenv("CUDA_HOME"); home && *home)
    places.insert(places.begin(), std::string(home) + "/bin/" + name);
  places.push_back("/usr/local/cuda/bin/" + name);
  const auto usable = [](const std::string& path) { return ::access(path.c_str(), X_OK) == 0; };
  const auto found = std::find_if(places.begin(), places.end(), usable);
  return found == places.end() ? std::string() : *found;
}

std::vector<Input> find_inputs(const std::vector<std::string>& names) {
  std::vector<Input> out;
  for (const std::string& name : names) {
    std::error_code status;
    if (name != "-" && fs::is_directory(name, status)) {
      std::vector<Input> found = in_folder(name);
      out.insert(out.end(), found.begin(), found.end());
    } else {
      out.push_back({name, kind_of(name)});
    }
  }
  return out;
}

std::vector<diag::SourcePtr> texts_of(const Input& input, const std::vector<std::string>& nvcc_options) {
  if (input.kind == Kind::ptx) return {read_source(input.path)};
  if (std::ifstream file(input.path); !file.is_open()) harness::read_file(input.path);  // says why
  return input.kind == Kind::cuda ? compiled(input.path, nvcc_options) : extracted(input.path);
}

}  // namespace kiln::command
