#include "harness/host/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>

#include "harness/host/write_all.hpp"
#include "ptx/diag/refuse.hpp"

namespace kiln::harness {
namespace {

using Clock = std::chrono::steady_clock;

/// A pipe whose ends close themselves.
class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) diag::refuse("pipe: {}", std::strerror(errno));
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

std::vector<char*> raw_arguments(const std::vector<std::string>& arguments) {
  std::vector<char*> raw;
  for (const std::string& a : arguments) raw.push_back(const_cast<char*>(a.c_str()));
  raw.push_back(nullptr);
  return raw;
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

void reap(pid_t child, ProcessResult& result) {
  const int status = wait_for(child);
  if (WIFEXITED(status))
    result.exit_code = WEXITSTATUS(status);
  else if (WIFSIGNALED(status))
    result.signal = WTERMSIG(status);
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& arguments, std::chrono::milliseconds timeout) {
  const std::vector<char*> raw = raw_arguments(arguments);
  Pipe out, err, report;
  const auto start = Clock::now();
  const pid_t child = ::fork();
  if (child < 0) diag::refuse("{}: cannot be started: {}", arguments[0], std::strerror(errno));
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
  if (failed) diag::refuse("{}: cannot be started: {}", arguments[0], std::strerror(why));
  return result;
}

ChildProcess::ChildProcess(const std::vector<std::string>& arguments) {
  const int failed =
      ::posix_spawn(&id_, arguments[0].c_str(), nullptr, nullptr, raw_arguments(arguments).data(), environ);
  if (failed) diag::refuse("{}: cannot be started: {}", arguments[0], std::strerror(failed));
}

ChildProcess::~ChildProcess() { wait(); }

int ChildProcess::wait() {
  if (id_ < 0) return exit_code_;
  const int status = wait_for(id_);
  id_ = -1;
  return exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void become_program(const std::vector<std::string>& arguments) {
  ::execv(arguments[0].c_str(), raw_arguments(arguments).data());
  diag::refuse("{}: cannot be started: {}", arguments[0], std::strerror(errno));
}

std::vector<std::string> find_all_in_path(const std::string& name) {
  std::vector<std::string> found;
  const char* path = std::getenv("PATH");
  for (std::string_view rest = path ? path : ""; !rest.empty();) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const std::string candidate = fmt::format("{}/{}", colon ? rest.substr(0, colon) : ".", name);
    std::error_code status;
    if (std::filesystem::is_regular_file(candidate, status) && ::access(candidate.c_str(), X_OK) == 0)
      found.push_back(candidate);
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return found;
}

std::vector<std::string> find_all_in_python_packages(const std::string& pattern) {
  std::error_code unknown;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", unknown);
  const std::filesystem::path packages = program.parent_path().parent_path() / "lib/python3*/site-packages";
  glob_t found{};
  std::vector<std::string> out;
  if (::glob((packages / pattern).c_str(), 0, nullptr, &found) == 0)
    out.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return out;
}

std::string find_in_path(const std::string& name) {
  const std::vector<std::string> found = find_all_in_path(name);
  return found.empty() ? std::string() : found.front();
}

namespace {

// What a process writes: a dot for each tick, then a letter that says what follows, then that.
constexpr char ticked = '.', answer = 'r', mistake = 'e', broken = 'b';

struct Process {
  pid_t id = -1;
  int from = -1;
  std::string text{};
  bool speaking = false;  // the dots are over
};

void write_or_end(int to, std::string_view text) {
  if (!write_all(to, text)) ::_exit(1);
}

template <class Work>
[[noreturn]] void be_process(unsigned job, int to, const Work& work) {
  std::string text;
  try {
    text = answer + work(job, [to] { write_or_end(to, std::string_view(&ticked, 1)); });
  } catch (const diag::InputError& e) {
    text = mistake + std::string(e.what());
  } catch (const std::bad_alloc&) {
    text = mistake + std::string("not enough memory for this problem in every process of --jobs");
  } catch (const std::exception& e) {
    text = broken + std::string(e.what());
  }
  write_or_end(to, text);
  ::_exit(0);
}

// False at the end of what the process says.
bool hear(Process& p, const std::function<void()>& tick) {
  char buffer[1 << 16];
  const ssize_t n = ::read(p.from, buffer, sizeof buffer);
  if (n < 0 && errno == EINTR) return true;
  if (n <= 0) return false;
  std::size_t at = 0;
  for (; !p.speaking && at < std::size_t(n); ++at) {
    if (buffer[at] != ticked) {
      p.speaking = true;
      break;
    }
    tick();
  }
  p.text.append(buffer + at, std::size_t(n) - at);
  return true;
}

void hear_all(std::vector<Process>& processes, const std::function<void()>& tick) {
  for (std::size_t open = processes.size(); open != 0;) {
    std::vector<pollfd> waits;
    for (const Process& p : processes) waits.push_back({p.from, POLLIN, 0});
    if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) break;
    for (std::size_t k = 0; k < processes.size(); ++k) {
      if (waits[k].revents == 0 || processes[k].from < 0 || hear(processes[k], tick)) continue;
      ::close(processes[k].from);
      processes[k].from = -1;  // poll leaves those out
      --open;
    }
  }
}

}  // namespace

std::vector<std::string> in_processes(
    unsigned jobs, const std::function<std::string(unsigned job, const std::function<void()>& told)>& work,
    const std::function<void()>& tick) {
  std::vector<Process> processes(jobs);
  for (unsigned job = 0; job < jobs; ++job) {
    int ends[2];
    if (::pipe(ends) != 0) diag::refuse("--jobs: no pipe: {}", std::strerror(errno));
    const pid_t id = ::fork();
    if (id < 0) diag::refuse("--jobs: no process: {}", std::strerror(errno));
    if (id == 0) {
      ::close(ends[0]);
      be_process(job, ends[1], work);
    }
    ::close(ends[1]);
    processes[job].id = id;
    processes[job].from = ends[0];
  }
  hear_all(processes, tick);
  std::vector<std::string> out;
  for (Process& p : processes) {
    const int status = wait_for(p.id);
    if (p.text.empty() || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
      throw diag::InternalError(fmt::format("a process of --jobs ended with status {:#x}", status));
    if (p.text[0] == mistake) throw diag::InputError(p.text.substr(1));
    if (p.text[0] == broken) throw diag::InternalError(p.text.substr(1));
    out.push_back(p.text.substr(1));
  }
  return out;
}

}  // namespace kiln::harness
