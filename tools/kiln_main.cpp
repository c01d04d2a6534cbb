// The program: everything is in the library, so that users' kernels get the whole command.
#include "tools/command/kiln_main.hpp"

int main(int argc, char** argv) { return kiln::kiln_main(argc, argv); }
