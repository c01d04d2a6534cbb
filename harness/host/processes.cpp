#include "harness/host/processes.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "ptx/diag/error.hpp"

namespace kiln::harness {
namespace {

// What a process writes: a dot for each tick, then a letter that says what follows, then that.
constexpr char ticked = '.', result = 'r', mistake = 'e', broken = 'b';

struct Process {
  pid_t id = -1;
  int from = -1;
  std::string text{};
  bool speaking = false;  // the dots are over
};

void write_all(int to, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(to, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) ::_exit(1);
    text.remove_prefix(std::size_t(n));
  }
}

template <class Work>
[[noreturn]] void be_process(unsigned job, int to, const Work& work) {
  std::string text;
  try {
    text = result + work(job, [to] { write_all(to, std::string_view(&ticked, 1)); });
  } catch (const diag::InputError& e) {
    text = mistake + std::string(e.what());
  } catch (const std::bad_alloc&) {
    text = mistake + std::string("not enough memory for this problem in every process of --jobs");
  } catch (const std::exception& e) {
    text = broken + std::string(e.what());
  }
  write_all(to, text);
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
    if (::pipe(ends) != 0) throw diag::InputError(fmt::format("--jobs: no pipe: {}", std::strerror(errno)));
    const pid_t id = ::fork();
    if (id < 0) throw diag::InputError(fmt::format("--jobs: no process: {}", std::strerror(errno)));
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
    int status = 0;
    while (::waitpid(p.id, &status, 0) < 0 && errno == EINTR) {
    }
    if (p.text.empty() || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
      throw diag::InternalError(fmt::format("a process of --jobs ended with status {:#x}", status));
    if (p.text[0] == mistake) throw diag::InputError(p.text.substr(1));
    if (p.text[0] == broken) throw diag::InternalError(p.text.substr(1));
    out.push_back(p.text.substr(1));
  }
  return out;
}

}  // namespace kiln::harness
