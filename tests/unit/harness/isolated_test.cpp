// Work in processes of its own: what a piece does to itself stays with it.
#include "harness/host/isolated.hpp"

#include <doctest/doctest.h>
#include <signal.h>

#include <stdexcept>

#include "ptx/diag/error.hpp"

namespace kiln::harness::isolated_test {

using Outcome = PieceResult::Outcome;

TEST_CASE("pieces of work come back in order, and one that dies or throws is that piece's result") {
  std::vector<std::size_t> begun;
  const auto work = [](std::size_t i) -> std::string {
    if (i == 1) ::raise(SIGKILL);
    if (i == 2) throw diag::InputError("not a number");
    if (i == 3) throw std::runtime_error("lost");
    if (i == 4) ::_exit(7);
    return std::string(200000, char('a' + i));  // more than a pipe holds
  };
  const auto results = in_isolation(6, 2, work, [&](std::size_t i) { begun.push_back(i); });
  REQUIRE(results.size() == 6);
  CHECK(results[0].outcome == Outcome::done);
  CHECK(results[0].text == std::string(200000, 'a'));
  CHECK(results[1].outcome == Outcome::broken);
  CHECK(results[1].text.find("ended by signal 9") == 0);
  CHECK(results[2].outcome == Outcome::unusable);
  CHECK(results[2].text == "not a number");
  CHECK(results[3].outcome == Outcome::broken);
  CHECK(results[3].text == "lost");
  CHECK(results[4].text == "ended with exit code 7");
  CHECK(results[5].text == std::string(200000, 'f'));
  CHECK(begun == std::vector<std::size_t>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("no work is no process") {
  CHECK(in_isolation(
            0, 4, [](std::size_t) { return std::string(); }, [](std::size_t) {})
            .empty());
}

}  // namespace kiln::harness::isolated_test
