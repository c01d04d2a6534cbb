// `kiln time --calibrate`: what the GPU at hand takes, as a chip file.
#pragma once

#include <string>

namespace kiln::command {

/// Runs the microbenchmarks and writes the chip to a file, or prints it where `out` is empty. After `budget` seconds
/// none begins any more; 0: all run. Returns the exit code.
int calibrate_gpu(const std::string& out, double budget);

}  // namespace kiln::command
