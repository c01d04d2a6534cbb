// The views of a simulated run: which are wanted, watched for, and written to files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/pipeline/options.hpp"

namespace kiln::sim {
class Observer;
}

namespace kiln::harness {

/// Throws InputError, naming the path and the reason, unless the files can be written: before the run rather than
/// after it.
void check_views(const ViewOptions&);

/// Watches one run and writes what was asked for, whatever became of the run.
class Views {
 public:
  explicit Views(const ViewOptions&);
  ~Views();
  Views(const Views&) = delete;
  Views& operator=(const Views&) = delete;

  /// Null when nothing is wanted.
  sim::Observer* observer();
  /// Writes the files and returns their paths. Throws InputError naming the file that cannot be written.
  std::vector<std::string> write(const std::string& kernel);

 private:
  struct State;
  const ViewOptions& options_;
  std::unique_ptr<State> state_;
};

}  // namespace kiln::harness
