// Asks both engines about every program of the family, and compares them with the memory model.
#pragma once

#include <string>

namespace kiln::test {

/// Compares with family.txt, and every disagreement with disagreements.txt. Prints what differs; 0: nothing.
int compare_family();

/// family.txt as it is now.
void print_family();

/// The kernels of all tests whose name has these words, and what the engines say of them.
void show_family(const std::string& words);

}  // namespace kiln::test
