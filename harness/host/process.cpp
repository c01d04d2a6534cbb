#include "harness/host/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "ptx/diag/error.hpp"

namespace kiln::harness {
namespace {

using Clock = std::chrono::steady_clock;

/// A pipe whose ends close themselves.
class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) throw diag::InputError(fmt::format("pipe: {}", std::strerror(errno)));
  }
  ~Pipe() { close_read(), close_write(); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }
  void close_read() { close(ends_[0]); }
  void close_write() { close(ends_[1]); }

 private:
  static void close(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
  std::array<int, 2> ends_{-1, -1};
};

// Only async-signal-safe calls between fork and exec.
[[noreturn]] void become(char* const* arguments, int out, int err, int report) {
  ::setpgid(0, 0);
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::execv(arguments[0], arguments);
  const int why = errno;
  [[maybe_unused]] const auto written = ::write(report, &why, sizeof why);
  ::_exit(127);
}

// Appends what is there; false at the end of the stream.
bool drain(int fd, std::string& text) {
  std::array<char, 65536> chunk;
  const ssize_t n = ::read(fd, chunk.data(), chunk.size());
  if (n > 0) text.append(chunk.data(), std::size_t(n));
  return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

// Reads both streams until they end or time is up.
bool collect(Pipe& out, Pipe& err, ProcessResult& result, Clock::time_point deadline) {
  std::array<pollfd, 2> waiting{pollfd{out.read_end(), POLLIN, 0}, pollfd{err.read_end(), POLLIN, 0}};
  while (waiting[0].fd >= 0 || waiting[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    const int ready = ::poll(waiting.data(), waiting.size(), int(std::min<long long>(left, 1 << 30)));
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) continue;
    if (waiting[0].revents && !drain(waiting[0].fd, result.out)) waiting[0].fd = -1;
    if (waiting[1].revents && !drain(waiting[1].fd, result.err)) waiting[1].fd = -1;
  }
  return true;
}

void reap(pid_t child, ProcessResult& result) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status))
    result.exit_code = WEXITSTATUS(status);
  else if (WIFSIGNALED(status))
    result.signal = WTERMSIG(status);
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& arguments, std::chrono::milliseconds timeout) {
  std::vector<char*> raw;
  for (const std::string& a : arguments) raw.push_back(const_cast<char*>(a.c_str()));
  raw.push_back(nullptr);
  Pipe out, err, report;
  const auto start = Clock::now();
  const pid_t child = ::fork();
  if (child < 0) throw diag::InputError(fmt::format("{}: cannot be started: {}", arguments[0], std::strerror(errno)));
  if (child == 0) become(raw.data(), out.write_end(), err.write_end(), report.write_end());
  out.close_write(), err.close_write(), report.close_write();

  ProcessResult result;
  int why = 0;
  const bool failed = ::read(report.read_end(), &why, sizeof why) == sizeof why;
  if (!failed && !collect(out, err, result, start + timeout)) {
    result.timed_out = true;
    ::kill(-child, SIGKILL);
    ::kill(child, SIGKILL);
  }
  reap(child, result);
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (failed) throw diag::InputError(fmt::format("{}: cannot be started: {}", arguments[0], std::strerror(why)));
  return result;
}

std::string find_in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  for (std::string_view rest = path ? path : ""; !rest.empty();) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const std::string candidate = fmt::format("{}/{}", colon ? rest.substr(0, colon) : ".", name);
    std::error_code status;
    if (std::filesystem::is_regular_file(candidate, status) && ::access(candidate.c_str(), X_OK) == 0) return candidate;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return {};
}

}  // namespace kiln::harness
