#include "harness/host/isolated.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <new>

#include "harness/host/write_all.hpp"
#include "ptx/diag/refuse.hpp"

namespace kiln::harness {
namespace {

using Outcome = PieceResult::Outcome;

/// A process at work: what it has sent so far. The first byte is the outcome.
struct Piece {
  std::size_t number = 0;
  pid_t id = -1;
  int from = -1;
  std::string text{};
};

PieceResult attempt(std::size_t number, const std::function<std::string(std::size_t)>& work) {
  try {
    return {Outcome::done, work(number)};
  } catch (const diag::InputError& error) {
    return {Outcome::unusable, error.what()};
  } catch (const std::bad_alloc&) {
    return {Outcome::broken, "not enough memory"};
  } catch (const std::exception& error) {
    return {Outcome::broken, error.what()};
  }
}

Piece start(std::size_t number, const std::function<std::string(std::size_t)>& work) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) diag::refuse("no pipe: {}", std::strerror(errno));
  const pid_t id = ::fork();
  if (id < 0) {
    const int why = errno;
    ::close(ends[0]), ::close(ends[1]);
    diag::refuse("no process: {}", std::strerror(why));
  }
  if (id == 0) {
    ::close(ends[0]);
    const PieceResult result = attempt(number, work);
    const char outcome = char(result.outcome);
    ::_exit(write_all(ends[1], {&outcome, 1}) && write_all(ends[1], result.text) ? 0 : 1);
  }
  ::close(ends[1]);
  return {number, id, ends[0], {}};
}

// False at the end of what the process sends.
bool hear(Piece& piece) {
  std::array<char, 1 << 16> buffer;
  const ssize_t n = ::read(piece.from, buffer.data(), buffer.size());
  if (n > 0) piece.text.append(buffer.data(), std::size_t(n));
  return n > 0 || (n < 0 && errno == EINTR);
}

PieceResult finish(const Piece& piece) {
  ::close(piece.from);
  int status = 0;
  while (::waitpid(piece.id, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status))
    return {Outcome::broken, fmt::format("ended by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)))};
  if (WEXITSTATUS(status) != 0 || piece.text.empty())
    return {Outcome::broken, fmt::format("ended with exit code {}", WEXITSTATUS(status))};
  return {Outcome(piece.text[0]), piece.text.substr(1)};
}

// Waits until something is sent; what has ended is moved into the results.
void listen(std::vector<Piece>& running, std::vector<PieceResult>& results) {
  std::vector<pollfd> waits;
  for (const Piece& p : running) waits.push_back({p.from, POLLIN, 0});
  if (::poll(waits.data(), waits.size(), -1) < 0) return;  // a signal
  for (std::size_t k = running.size(); k-- > 0;) {
    if (waits[k].revents == 0 || hear(running[k])) continue;
    results[running[k].number] = finish(running[k]);
    running.erase(running.begin() + std::ptrdiff_t(k));
  }
}

}  // namespace

std::vector<PieceResult> in_isolation(std::size_t count, unsigned at_once,
                                      const std::function<std::string(std::size_t)>& work,
                                      const std::function<void(std::size_t)>& begins) {
  std::vector<PieceResult> results(count);
  std::vector<Piece> running;
  for (std::size_t next = 0; next < count || !running.empty();) {
    if (next < count && running.size() < at_once) {
      begins(next);
      running.push_back(start(next++, work));
    } else {
      listen(running, results);
    }
  }
  return results;
}

}  // namespace kiln::harness
