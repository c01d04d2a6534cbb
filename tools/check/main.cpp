// kiln-check: `kiln check` and nothing else, for those who change a rule (`make rules`).
#include "tools/command/application.hpp"

int main(int argc, char** argv) { return kiln::command::run_application(argc, argv, kiln::command::add_check); }
