// The main of every doctest program here: unit tests, laws and differential tests.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
