#include "tools/command/check_cache.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>

#include "harness/host/files.hpp"
#include "ptx/diag/error.hpp"
#include "tools/command/packed_findings.hpp"
#include "tools/command/report/version.hpp"

namespace kiln::command {
namespace {

using Clock = std::chrono::steady_clock;

// FNV-1a of 128 bits: two texts of a user do not meet by chance.
std::string digest(std::string_view text, std::string_view more) {
  __extension__ using Wide = unsigned __int128;
  constexpr Wide prime = (Wide(1) << 88) | 0x13b;
  Wide hash = (Wide(0x6c62272e07bb0142) << 64) | 0x62b821756295c58d;
  for (const std::string_view part : {text, more}) {
    for (const char c : part) hash = (hash ^ static_cast<unsigned char>(c)) * prime;
    hash = (hash ^ 0x100) * prime;  // a separator that is no byte
  }
  return fmt::format("{:016x}{:016x}", std::uint64_t(hash >> 64), std::uint64_t(hash));
}

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Two programs of one version differ while Kiln is worked on.
std::string this_program() {
  struct stat file {};
  if (::stat("/proc/self/exe", &file) != 0) return "";
  return fmt::format("{} {} {}.{}", version(), file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec);
}

std::string options_text(const JudgeOptions& o) {
  const verifier::LaunchFacts& f = o.facts;
  return fmt::format("{} {} {} {} {} block={} cluster={} grid={} smem={} params={}", o.profile, o.ptxas, o.ptx_version,
                     o.budget, o.quick, f.block, f.cluster, f.grid,
                     f.dynamic_shared ? fmt::format("{}", *f.dynamic_shared) : "", f.parameters);
}

bool depends_on_text_alone(const JudgeOptions& o) { return !o.launch && !o.lint; }

// With more time there might have been another answer.
bool ran_out_of_time(const Judgement& j, double seconds, double budget) {
  if (seconds > budget / 2) return true;
  for (const diag::Diagnostic& d : j.found.all()) {
    if (d.message.find("--budget") != std::string::npos) return true;
    for (const diag::Note& n : d.notes)
      if (n.message.find("--budget") != std::string::npos) return true;
  }
  return false;
}

std::optional<Judgement> read(const std::string& path, const diag::SourcePtr& source) {
  try {
    const std::vector<std::uint8_t> bytes = harness::read_file(path);
    return unpack(std::string(bytes.begin(), bytes.end()), source);
  } catch (const std::exception&) {  // absent, or cut off: judged anew
    return std::nullopt;
  }
}

void write(const std::string& folder, const std::string& path, const std::string& bytes) {
  try {
    harness::make_folder(folder);
    harness::write_file(path, bytes);
  } catch (const diag::InputError&) {  // the next run judges again
  }
}

}  // namespace

std::string cache_folder() {
  if (const std::string own = setting("KILN_CACHE"); !own.empty()) return own;
  if (const std::string all = setting("XDG_CACHE_HOME"); !all.empty()) return all + "/kiln";
  const std::string home = setting("HOME");
  return home.empty() ? "" : home + "/.cache/kiln";
}

CheckCache::CheckCache(bool is_used) : program_(this_program()) {
  if (is_used && !program_.empty()) folder_ = cache_folder();
}

Judgement CheckCache::judge(const diag::SourcePtr& source, const JudgeOptions& options) const {
  if (folder_.empty() || !depends_on_text_alone(options)) return command::judge(source, options);
  const std::string key = digest(source->text(), program_ + "\n" + options_text(options));
  const std::string shelf = folder_ + "/check/" + key.substr(0, 2), path = shelf + "/" + key.substr(2);
  if (auto known = read(path, source)) return *std::move(known);
  const Clock::time_point begun = Clock::now();
  Judgement judged = command::judge(source, options);
  const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  if (!ran_out_of_time(judged, seconds, options.budget)) write(shelf, path, pack(judged, source));
  return judged;
}

}  // namespace kiln::command
