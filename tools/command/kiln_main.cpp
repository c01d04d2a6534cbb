#include "tools/command/kiln_main.hpp"

#include "tools/command/application.hpp"

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
  add_emit_raw(builder);
}

}  // namespace
}  // namespace command

int kiln_main(int argc, char** argv) { return command::run_application(argc, argv, command::add_all); }

}  // namespace kiln
