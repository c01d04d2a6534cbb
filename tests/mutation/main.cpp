// mutate: edits kernels, one mistake at a time, and sees whether the simulator notices. README.md has the rest.
#include <fmt/format.h>

#include <atomic>
#include <iostream>
#include <mutex>
#include <thread>

#include "ptx/diag/error.hpp"
#include "ptx/parse/parse.hpp"
#include "tests/mutation/report.hpp"
#include "verifier/explore.hpp"

namespace {

using namespace kiln;
using namespace kiln::mutation;

struct Arguments {
  bool clean = false, list = false;
  double budget = 0;  // seconds
  int schedules = 20, every = 1;
  unsigned jobs = 0;
  std::string kernel{}, show{}, rewrite{}, doc{}, ptx{}, launch{}, survivors = KILN_MUTATION "/survivors.txt";
};

constexpr const char* usage =
    "usage: mutate [--kernel NAME] [--rewrite NAME] [--schedules N] [--every N] [--jobs N]\n"
    "       mutate --doc FILE                all of them; writes the tables between the marks of FILE\n"
    "       mutate --clean [--schedules N]   the kernels themselves\n"
    "       mutate --list                    every mutant with its verdict\n"
    "       mutate --show LINE --kernel NAME --rewrite NAME   the mutants of one line, as PTX\n"
    "       mutate --ptx FILE --launch FILE [--survivors FILE] ...   another kernel in the place of the table's\n"
    "       --budget SECONDS: what exploring one mutant may take\n";

Arguments parse_arguments(int argc, char** argv) {
  Arguments a;
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    if (word == "--clean") {
      a.clean = true;
      continue;
    }
    if (word == "--list") {
      a.list = true;
      continue;
    }
    if (k + 1 == argc) throw diag::InputError(usage);
    const std::string value = argv[++k];
    if (word == "--schedules")
      a.schedules = std::stoi(value);
    else if (word == "--every")
      a.every = std::stoi(value);
    else if (word == "--jobs")
      a.jobs = unsigned(std::stoi(value));
    else if (word == "--kernel")
      a.kernel = value;
    else if (word == "--rewrite")
      a.rewrite = value;
    else if (word == "--doc")
      a.doc = value;
    else if (word == "--show")
      a.show = value;
    else if (word == "--ptx")
      a.ptx = value;
    else if (word == "--launch")
      a.launch = value;
    else if (word == "--survivors")
      a.survivors = value;
    else if (word == "--budget")
      a.budget = std::stod(value);
    else
      throw diag::InputError(usage);
  }
  if (a.ptx.empty() != a.launch.empty()) throw diag::InputError(usage);
  if (!a.jobs) a.jobs = std::max(1u, std::thread::hardware_concurrency());
  return a;
}

// Runs work(0) ... work(count - 1) on `jobs` threads.
template <class Work>
void in_parallel(std::size_t count, unsigned jobs, Work work) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failed;
  std::mutex lock;
  const auto run = [&] {
    for (std::size_t k; (k = next++) < count;) {
      try {
        work(k);
      } catch (...) {
        const std::lock_guard guard(lock);
        failed = std::current_exception();
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned k = 0; k < jobs; ++k) threads.emplace_back(run);
  for (std::thread& t : threads) t.join();
  if (failed) std::rethrow_exception(failed);
}

std::vector<Kernel> chosen(const Arguments& a) {
  if (!a.ptx.empty()) {
    std::vector<Kernel> one{foreign_kernel(a.ptx, a.launch)};
    learn(one[0]);
    return one;
  }
  std::vector<Kernel> all = kernels();
  if (!a.kernel.empty()) std::erase_if(all, [&](const Kernel& k) { return k.name != a.kernel; });
  if (all.empty()) throw diag::InputError("no kernel " + a.kernel);
  return all;
}

bool is_right(const Observed& o) { return !o.stillborn && !o.error && !o.incomplete && !o.wrong_values; }

// Every kernel in many schedules: no error, no deadlock, right values.
int run_clean(const Arguments& a) {
  int wrong = 0;
  for (const Kernel& kernel : chosen(a)) {
    std::vector<Observed> seen(std::size_t(a.schedules));
    in_parallel(seen.size(), a.jobs,
                [&](std::size_t k) { seen[k] = run_once(kernel, std::string(kernel.ptx->text()), k + 1); });
    int bad = 0;
    std::map<std::string, int> portability;
    for (const Observed& o : seen) {
      bad += !is_right(o);
      for (const auto& [slug, count] : o.portability) ++portability[slug];
    }
    std::cout << fmt::format("{:<18} {} schedules, {} wrong", kernel.name, seen.size(), bad);
    for (const auto& [slug, runs] : portability) std::cout << fmt::format("; portability {} in {} runs", slug, runs);
    std::cout << std::endl;
    for (const Observed& o : seen)
      if (!is_right(o)) {
        std::cout << "  " << (o.first.empty() ? "wrong values" : o.first) << '\n';
        break;
      }
    wrong += bad;
  }
  return wrong != 0;
}

std::vector<Mutant> mutants(const std::vector<Kernel>& kernels, const Arguments& a) {
  std::vector<Mutant> out;
  for (const Kernel& k : kernels) {
    diag::Sink sink;
    const ir::Module module = parse::parse(k.ptx, sink);
    for (Mutant& m : mutants_of(k.name, module))
      if (a.rewrite.empty() || m.rewrite == a.rewrite) out.push_back(std::move(m));
  }
  if (a.every == 1) return out;
  std::vector<Mutant> sample;
  for (std::size_t k = 0; k < out.size(); k += std::size_t(a.every)) sample.push_back(std::move(out[k]));
  return sample;
}

void list(const std::vector<Judged>& judged) {
  constexpr const char* fates[] = {"stillborn", "killed", "values", "LIVES"};
  for (const Judged& j : judged)
    std::cout << fmt::format("{:<9} {:>2} {} | {} | {}@{} | class {}{} | {} | static: {}\n", fates[int(j.fate)],
                             j.schedule, j.mutant.kernel, j.mutant.rewrite, j.mutant.original, j.mutant.line,
                             j.mutant.bug_class, char(j.mutant.profile), j.witness,
                             j.unrun.empty() ? j.is_followed ? "-" : "incomplete" : j.unrun);
}

int print_ptx(const std::vector<Kernel>& kernels, const std::vector<Mutant>& all, const std::string& line) {
  for (const Mutant& m : all)
    if (std::to_string(m.line) == line) std::cout << m.text_of(std::string(kernels.at(0).ptx->text()));
  return 0;
}

std::chrono::milliseconds exploring(const Arguments& a) {
  return a.budget == 0 ? verifier::no_limit : std::chrono::milliseconds(std::int64_t(a.budget * 1000));
}

std::map<std::string, Whole> run_whole(const std::vector<Kernel>& kernels, const Arguments& a) {
  std::map<std::string, Whole> out;
  for (const Kernel& k : kernels) {
    const std::string text(k.ptx->text());
    const Whole& whole = out[k.name] = {run_once(k, text, 1), check_statically(k.name, text, k.contract, exploring(a))};
    if (!is_right(whole.run)) throw diag::InputError(k.name + " is wrong itself: " + whole.run.first);
  }
  return out;
}

int run_mutants(const Arguments& a) {
  const std::vector<Kernel> kernels = chosen(a);
  const std::vector<Mutant> all = mutants(kernels, a);
  if (!a.show.empty()) return print_ptx(kernels, all, a.show);
  const std::map<std::string, Whole> whole = run_whole(kernels, a);
  std::map<std::string, const Kernel*> by_name;
  for (const Kernel& k : kernels) by_name[k.name] = &k;
  std::vector<Judged> judged(all.size());
  in_parallel(all.size(), a.jobs, [&](std::size_t k) {
    const std::string& name = all[k].kernel;
    judged[k] = judge(*by_name.at(name), all[k], whole.at(name), a.schedules, exploring(a));
  });
  if (a.list) list(judged);
  const bool complete = a.every == 1 && a.kernel.empty() && a.rewrite.empty() && a.ptx.empty();
  const std::vector<SurvivorRow> rows = read_survivors(a.survivors);
  Report report(rows, whole);
  for (const Judged& j : judged) report.take(j);
  std::cout << report.tables();
  if (complete && !a.doc.empty()) write_between_marks(a.doc, report.tables());
  return report.check(complete) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Arguments a = parse_arguments(argc, argv);
    return a.clean ? run_clean(a) : run_mutants(a);
  } catch (const std::exception& e) {
    std::cerr << "mutate: " << e.what() << '\n';
    return 2;
  }
}
