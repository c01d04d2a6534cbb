#include "tests/differential/forms_compare.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

namespace kiln::test {
namespace {

constexpr std::size_t batch = 200;

// ptxas is not asked what it never answers.
std::vector<Refusal> ask_carefully(const harness::Ptxas& ptxas, const Setting& setting,
                                   std::span<const std::string> instructions, Exceptions& exceptions) {
  std::vector<std::string> asked;
  std::vector<Refusal> out(instructions.size());
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    if (find_exception(exceptions, Exception::Kind::hangs, spelling(setting), instructions[i])) {
      out[i] = "does not end";
      continue;
    }
    asked.push_back(instructions[i]);
    places.push_back(i);
  }
  auto answers = ask_ptxas(ptxas, setting, asked);
  for (std::size_t i = 0; i < places.size(); ++i) out[places[i]] = std::move(answers[i]);
  return out;
}

void compare_batch(const harness::Ptxas& ptxas, std::span<const std::string> instructions, Exceptions& exceptions,
                   Tally& tally) {
  const auto by_ptxas = ask_carefully(ptxas, tally.setting, instructions, exceptions);
  const auto by_kiln = ask_kiln(tally.setting, instructions);
  const std::string setting = spelling(tally.setting);
  tally.forms += instructions.size();
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const bool accepted = by_ptxas[i].empty();
    tally.accepted += accepted;
    if (accepted == by_kiln[i].empty()) continue;
    if (find_exception(exceptions, accepted ? Exception::Kind::accepts : Exception::Kind::refuses, setting,
                       instructions[i]))
      ++tally.excepted;
    else
      tally.disagreements.push_back({setting, instructions[i], by_ptxas[i], by_kiln[i]});
  }
}

void add(const Tally& part, Tally& to) {
  to.forms += part.forms;
  to.accepted += part.accepted;
  to.excepted += part.excepted;
  to.disagreements.insert(to.disagreements.end(), part.disagreements.begin(), part.disagreements.end());
}

}  // namespace

std::string Disagreement::text() const {
  const auto verdict = [](const std::string& refusal) { return refusal.empty() ? "accepted" : refusal; };
  return setting + "  " + instruction + "\n    ptxas: " + verdict(ptxas) + "\n    Kiln:  " + verdict(kiln);
}

Tally compare(const harness::Ptxas& ptxas, const Setting& setting, const std::vector<std::string>& instructions,
              Exceptions& exceptions, const std::function<void(std::size_t)>& progress) {
  Tally total{setting};
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      for (std::size_t first; (first = next.fetch_add(batch)) < instructions.size();) {
        Tally part{setting};
        compare_batch(ptxas, std::span(instructions).subspan(first, std::min(batch, instructions.size() - first)),
                      exceptions, part);
        const std::lock_guard lock(mutex);
        add(part, total);
        if (progress) progress(total.forms);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < std::max(1u, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
  work();
  for (std::thread& t : threads) t.join();
  if (failure) std::rethrow_exception(failure);
  std::sort(total.disagreements.begin(), total.disagreements.end(),
            [](const auto& a, const auto& b) { return a.instruction < b.instruction; });
  return total;
}

std::vector<std::string> thinned(const std::vector<std::string>& instructions, std::size_t count) {
  std::vector<std::string> out;
  const std::size_t step = std::max<std::size_t>(1, instructions.size() / count);
  for (std::size_t i = 0; i < instructions.size(); i += step) out.push_back(instructions[i]);
  return out;
}

}  // namespace kiln::test
