// The terminal: colour and progress, which appear only on a terminal.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "ptx/diag/diagnostic.hpp"
#include "ptx/diag/render.hpp"

namespace kiln::command {

/// Exit codes. 0, 1 and 3 are those of diag::exit_code.
enum Exit : int { clean = 0, errors = 1, unusable = 2, incomplete = 3, bug = 4 };

/// Colour on a stream (1: stdout, 2: stderr): on for a terminal unless $NO_COLOR is set or $TERM is dumb.
diag::Colour colour_of(int stream);

/// Writes to stdout as a whole. Throws InputError when it cannot (a full disk; a closed pipe ends the program quietly).
void print(std::string_view text);
/// Writes to stderr.
void complain(std::string_view text);

/// Does what the command line asks for; what it throws becomes a message and an exit code. A closed pipe ends the program
/// quietly, as `kiln list | head` must, even where the program that started this one ignores SIGPIPE.
int guarded(const std::function<int()>& action);

/// Prints findings to stderr as text.
void print_findings(const diag::Sink&);

/// Says on stderr what is going on once it has taken a second, if stderr is a terminal; wipes it when done.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void stage(std::string_view name);

 private:
  void watch();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::string stage_;
  bool done_ = false;
  std::thread thread_;  // last: it uses the rest
};

/// How much of some work is done, as a picture: "[####......]".
std::string progress_bar(std::size_t done, std::size_t all);
/// The day in UTC: "2026-11-23".
std::string today();
/// "32 us", "0.8 ms", "1.3 s".
std::string duration(double seconds);
/// "64,512".
std::string grouped(unsigned long long);
/// "2.0 MiB".
std::string byte_size(unsigned long long);

/// The candidate that `word` most likely meant; empty when none is near.
template <class Candidates>
std::string_view nearest(std::string_view word, const Candidates& candidates);
std::size_t edit_distance(std::string_view a, std::string_view b);

template <class Candidates>
std::string_view nearest(std::string_view word, const Candidates& candidates) {
  std::string_view best;
  std::size_t distance = word.size() / 3 + 2;
  for (std::string_view c : candidates)
    if (const std::size_t d = edit_distance(word, c); d < distance) best = c, distance = d;
  return best;
}

}  // namespace kiln::command
