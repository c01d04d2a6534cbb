#include "tools/command/report/console.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <new>
#include <numeric>
#include <vector>

#include "ptx/diag/error.hpp"

namespace kiln::command {
namespace {

constexpr std::chrono::milliseconds patience{1000}, tick{500};

bool wants_colour() {
  const char* refused = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return !(refused && *refused) && !(terminal && std::strcmp(terminal, "dumb") == 0);
}

}  // namespace

diag::Colour colour_of(int stream) { return ::isatty(stream) && wants_colour() ? diag::Colour::on : diag::Colour::off; }

void print(std::string_view text) {
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written) throw diag::InputError(fmt::format("stdout: {}", std::strerror(errno)));
}

void complain(std::string_view text) {
  std::fflush(stdout);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

int guarded(const std::function<int()>& action) {
  std::signal(SIGPIPE, SIG_DFL);
  try {
    return action();
  } catch (const diag::InputError& error) {
    complain(fmt::format("error: {}\n", error.what()));
    return Exit::unusable;
  } catch (const diag::Rejected& rejected) {
    print_findings(rejected.findings());
    complain(fmt::format("error: {}\n", rejected.what()));
    return Exit::errors;
  } catch (const diag::InternalError& error) {
    complain(fmt::format("{}\n", error.what()));
    return Exit::bug;
  } catch (const std::bad_alloc&) {
    complain("error: not enough memory for this problem\n");
    return Exit::unusable;
  } catch (const std::exception& error) {
    complain(fmt::format("internal error: {}\n", error.what()));
    return Exit::bug;
  }
}

void print_findings(const diag::Sink& sink) { complain(diag::render_text(sink, colour_of(2))); }

Progress::Progress() {
  if (::isatty(2)) thread_ = std::thread([this] { watch(); });
}

Progress::~Progress() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Progress::stage(std::string_view name) {
  const std::lock_guard lock(mutex_);
  stage_ = name;
}

void Progress::watch() {
  std::unique_lock lock(mutex_);
  const auto start = std::chrono::steady_clock::now();
  bool shown = false;
  for (auto wait = patience; !wake_.wait_for(lock, wait, [this] { return done_; }); wait = tick) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start);
    complain(fmt::format("\r\033[K{} ... {} s", stage_.empty() ? "working" : stage_, seconds.count()));
    shown = true;
  }
  if (shown) complain("\r\033[K");
}

std::string progress_bar(std::size_t done, std::size_t all) {
  constexpr std::size_t width = 10;
  const std::size_t filled = all ? std::min(done, all) * width / all : 0;
  return "[" + std::string(filled, '#') + std::string(width - filled, '.') + "]";
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm t{};
  ::gmtime_r(&now, &t);
  return fmt::format("{:04}-{:02}-{:02}", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday);
}

std::string duration(double seconds) {
  if (seconds > 0 && seconds < 0.995e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 0.0995) return fmt::format("{:.1f} ms", seconds * 1e3);
  return seconds < 0.9995 ? fmt::format("{:.0f} ms", seconds * 1e3) : fmt::format("{:.1f} s", seconds);
}

std::string grouped(unsigned long long n) {
  std::string s = std::to_string(n);
  for (std::size_t at = s.size(); at > 3;) s.insert(at -= 3, ",");
  return s;
}

std::string byte_size(unsigned long long n) {
  if (n < 1024) return fmt::format("{} bytes", n);
  if (n < 1024 * 1024) return fmt::format("{:.4g} KiB", double(n) / 1024);
  if (n < 1024ull * 1024 * 1024) return fmt::format("{:.4g} MiB", double(n) / (1024 * 1024));
  return fmt::format("{:.4g} GiB", double(n) / (1024.0 * 1024 * 1024));
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace kiln::command
