#include "tests/differential/forms_compare.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <iterator>
#include <mutex>
#include <thread>

namespace kiln::test {
namespace {

constexpr std::size_t batch = 200;

class Asking {
 public:
  Asking(const harness::Ptxas& ptxas, const Setting& setting, const std::vector<std::string>& instructions,
         Exceptions& exceptions, const Comparing& how)
      : ptxas_(ptxas), instructions_(instructions), exceptions_(exceptions), how_(how), total_{setting} {}

  Tally run() {
    const unsigned cores = how_.threads ? how_.threads : std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> threads;
    for (unsigned i = 1; i < cores; ++i) threads.emplace_back([this] { work(); });
    work();
    for (std::thread& t : threads) t.join();
    if (failure_) std::rethrow_exception(failure_);
    for (auto* list : {&total_.disagreements, &total_.covered})
      std::sort(list->begin(), list->end(), [](const auto& a, const auto& b) { return a.instruction < b.instruction; });
    return std::move(total_);
  }

 private:
  void work() {
    try {
      for (std::size_t first; (first = next_.fetch_add(batch)) < instructions_.size();)
        add(compared(std::span(instructions_).subspan(first, std::min(batch, instructions_.size() - first))));
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
    }
  }

  Tally compared(std::span<const std::string> instructions) {
    Tally part{total_.setting};
    const auto by_ptxas = ask_ptxas_carefully(instructions);
    const auto by_kiln = ask_kiln(part.setting, instructions);
    const std::string setting = spelling(part.setting);
    part.forms += instructions.size();
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      const bool accepted = by_ptxas[i].empty();
      part.accepted += accepted;
      if (accepted == by_kiln[i].empty()) continue;
      Disagreement d{setting, instructions[i], by_ptxas[i], by_kiln[i]};
      const auto kind = accepted ? Exception::Kind::accepts : Exception::Kind::refuses;
      const Exception* e = find_exception(exceptions_, kind, setting, d.instruction, accepted ? d.kiln : d.ptxas);
      if (e) d.row = e->row;
      (e ? part.covered : part.disagreements).push_back(std::move(d));
    }
    return part;
  }

  // ptxas is not asked what it never answers, nor what it said before.
  std::vector<Refusal> ask_ptxas_carefully(std::span<const std::string> instructions) {
    std::vector<std::string> asked;
    std::vector<Refusal> out(instructions.size());
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      if (find_exception(exceptions_, Exception::Kind::hangs, spelling(total_.setting), instructions[i], {})) {
        out[i] = "does not end";
      } else if (const auto known = said_before(instructions[i])) {
        out[i] = *known;
      } else {
        asked.push_back(instructions[i]);
        places.push_back(i);
      }
    }
    if (asked.empty()) return out;
    const auto answers = ask_ptxas(ptxas_, total_.setting, asked);
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < places.size(); ++i) {
      out[places[i]] = answers[i];
      if (how_.answers) how_.answers->add(asked[i], answers[i]);
    }
    return out;
  }

  std::optional<Refusal> said_before(const std::string& instruction) {
    if (!how_.answers) return std::nullopt;
    const std::lock_guard lock(mutex_);
    return how_.answers->of(instruction);
  }

  void add(Tally part) {
    const std::lock_guard lock(mutex_);
    total_.forms += part.forms;
    total_.accepted += part.accepted;
    std::move(part.covered.begin(), part.covered.end(), std::back_inserter(total_.covered));
    std::move(part.disagreements.begin(), part.disagreements.end(), std::back_inserter(total_.disagreements));
    if (how_.progress) how_.progress(total_.forms);
  }

  const harness::Ptxas& ptxas_;
  const std::vector<std::string>& instructions_;
  Exceptions& exceptions_;
  const Comparing& how_;
  Tally total_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_{};
  std::exception_ptr failure_{};
};

}  // namespace

std::string Disagreement::text() const {
  const auto verdict = [](const std::string& refusal) { return refusal.empty() ? "accepted" : refusal; };
  return setting + "  " + instruction + "\n    ptxas: " + verdict(ptxas) + "\n    Kiln:  " + verdict(kiln);
}

Tally compare(const harness::Ptxas& ptxas, const Setting& setting, const std::vector<std::string>& instructions,
              Exceptions& exceptions, const Comparing& how) {
  return Asking(ptxas, setting, instructions, exceptions, how).run();
}

std::vector<std::string> thinned(const std::vector<std::string>& instructions, std::size_t count) {
  std::vector<std::string> out;
  const std::size_t step = std::max<std::size_t>(1, instructions.size() / count);
  for (std::size_t i = 0; i < instructions.size(); i += step) out.push_back(instructions[i]);
  return out;
}

}  // namespace kiln::test
