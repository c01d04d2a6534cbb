// Child processes: a program with its arguments, what it said, how it ended, without a shell; a program that runs
// beside this one; and work that is spread over copies of this process, each of which sends back a text.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace kiln::harness {

/// How a child ended and what it wrote.
struct ProcessResult {
  int exit_code = -1;  // -1: killed by `signal`
  int signal = 0;
  bool timed_out = false;
  std::string out{}, err{};
  double seconds = 0;
};

/// Runs a program and waits for it; past the timeout it and its children are killed. The first argument is the
/// program's path. Throws InputError when it cannot be started.
ProcessResult run_process(const std::vector<std::string>& arguments, std::chrono::milliseconds timeout);

/// A program that runs while this one goes on. It has the standard streams of this process.
class ChildProcess {
 public:
  /// Starts it. The first argument is the program's path. Throws InputError when it cannot be started.
  explicit ChildProcess(const std::vector<std::string>& arguments);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Waits until it ends. Returns its exit code; 128 and the signal's number, as a shell does, when a signal ended it.
  int wait();

 private:
  pid_t id_ = -1;  // -1: waited for
  int exit_code_ = 0;
};

/// Turns this process into the program. The first argument is the program's path. Throws InputError when it cannot be
/// started.
[[noreturn]] void become_program(const std::vector<std::string>& arguments);

/// The executable that `name` means in $PATH; empty when there is none.
std::string find_in_path(const std::string& name);
/// Every executable of that name in $PATH, in order.
std::vector<std::string> find_all_in_path(const std::string& name);
/// Every path that the pattern means ("nvidia/*/bin/ptxas") below the Python packages of the environment that this
/// program was installed into, sorted.
std::vector<std::string> find_all_in_python_packages(const std::string& pattern);

/// Calls `work` with each number below `jobs` in a process of its own; returns what they return, in order. `tick` is
/// called here for each call of the function that work is given. An InputError in a process is thrown here; a process
/// that dies is an InternalError.
std::vector<std::string> in_processes(
    unsigned jobs, const std::function<std::string(unsigned job, const std::function<void()>& told)>& work,
    const std::function<void()>& tick);

}  // namespace kiln::harness
