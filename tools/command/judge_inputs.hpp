// Many inputs judged at once, each in a process of its own: a mistake of Kiln in one is that one's result.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/command/inputs.hpp"
#include "tools/command/judge.hpp"

namespace kiln::command {

/// What came of an input.
struct InputResult {
  enum class Outcome : unsigned char {
    judged,
    not_judged,  // no PTX could be taken out of it
    unusable,    // it cannot be read, or the launch cannot be used
    broken,      // Kiln failed
  };
  Input input{};
  Outcome outcome = Outcome::judged;
  Judgement judgement{};
  std::string why{};   // unless it was judged
  double seconds = 0;  // that it took
};

/// A text of an input. None where a kernel could not be written.
struct JudgedText {
  diag::SourcePtr source{};
  Judgement judgement{};
};

/// How inputs become results.
struct InputJudge {
  /// The PTX in an input, each text judged. Throws NotExtracted where no PTX can be taken out of it.
  std::function<std::vector<JudgedText>(const Input&)> judge;
  unsigned at_once = 1;
  /// Called before an input begins, with its index.
  std::function<void(std::size_t)> begins = [](std::size_t) {};
};

/// The results in the order of the inputs. Inputs that are not judged, or on which Kiln fails, have a finding that says
/// so and is `incomplete`. Throws InputError when no process can be made.
std::vector<InputResult> judge_inputs(const std::vector<Input>&, const InputJudge&);

}  // namespace kiln::command
