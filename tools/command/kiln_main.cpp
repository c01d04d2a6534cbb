#include "tools/command/kiln_main.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/diag/error.hpp"
#include "tools/command/application.hpp"
#include "tools/command/gemm_choice.hpp"
#include "tools/command/report/console.hpp"
#include "tools/command/report/kernels.hpp"

namespace kiln {
namespace command {
namespace {

void add_all(const Builder& builder) {
  add_run(builder);
  add_emit(builder);
  add_lower(builder);
  add_check(builder);
  add_sim(builder);
  add_gpu(builder);
  add_map(builder);
  add_time(builder);
  add_tune(builder);
  add_merge(builder);
  add_list(builder);
  add_explain(builder);
  add_layout(builder);
  add_decode(builder);
  add_mma(builder);
  add_ptxas(builder);
  add_doctor(builder);
  add_lsp(builder);
  add_emit_raw(builder);
}

// A link to the command under such a name stands in for ptxas.
bool is_called_ptxas(int argc, char** argv) { return argc > 0 && std::string_view(argv[0]).ends_with("ptxas"); }

// What $KILN_KERNELS names, and then what `--kernels FILE` at the beginning of the command line does: that is taken
// off, since the options of a subcommand depend on the kernels that there are.
void load_modules(int& argc, char** argv) {
  if (const char* named = std::getenv("KILN_KERNELS")) {
    std::istringstream paths(named);
    for (std::string path; std::getline(paths, path, ':');)
      if (!path.empty()) load_kernels(path);
  }
  while (argc > 1 && std::string_view(argv[1]) == "--kernels") {
    if (argc == 2) throw diag::InputError("--kernels: name a shared object with kernels");
    load_kernels(argv[2]);
    std::copy(argv + 3, argv + argc, argv + 1);
    argc -= 2;
  }
}

}  // namespace
}  // namespace command

int kiln_main(int argc, char** argv) {
  if (command::is_called_ptxas(argc, argv)) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    return command::guarded([&] { return command::check_and_assemble(words); });
  }
  return command::guarded([&] {
    command::load_modules(argc, argv);
    return command::run_application(argc, argv, command::add_all, command::choose_gemm);
  });
}

}  // namespace kiln
