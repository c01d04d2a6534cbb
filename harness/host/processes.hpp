// Work spread over processes: each is a copy of this one and sends back a text.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace kiln::harness {

/// Calls `work` with each number below `jobs` in a process of its own; returns what they return, in order. `tick` is
/// called here for each call of the function that work is given. An InputError in a process is thrown here; a process
/// that dies is an InternalError.
std::vector<std::string> in_processes(
    unsigned jobs, const std::function<std::string(unsigned job, const std::function<void()>& told)>& work,
    const std::function<void()>& tick);

}  // namespace kiln::harness
