// A child process: its arguments, what it said, how it ended. No shell anywhere.
#pragma once

#include <chrono>
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

/// The executable that `name` means in $PATH; empty when there is none.
std::string find_in_path(const std::string& name);

}  // namespace kiln::harness
