#include "tools/command/kiln_main.hpp"

#include <string>
#include <string_view>
#include <vector>

#include "tools/command/application.hpp"
#include "tools/command/report/console.hpp"

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
  add_merge(builder);
  add_list(builder);
  add_explain(builder);
  add_layout(builder);
  add_decode(builder);
  add_mma(builder);
  add_ptxas(builder);
  add_doctor(builder);
  add_emit_raw(builder);
}

// A link to the command under such a name stands in for ptxas.
bool is_called_ptxas(int argc, char** argv) { return argc > 0 && std::string_view(argv[0]).ends_with("ptxas"); }

}  // namespace
}  // namespace command

int kiln_main(int argc, char** argv) {
  if (command::is_called_ptxas(argc, argv)) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    return command::guarded([&] { return command::check_and_assemble(words); });
  }
  return command::run_application(argc, argv, command::add_all);
}

}  // namespace kiln
