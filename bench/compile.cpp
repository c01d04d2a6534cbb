// How long a compiler takes over the DSL: the front header alone, and whole kernel files. Each iteration is one compiler
// process without a cache.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>

namespace {

std::string command(const std::string& compiler, const std::string& input) {
  return compiler + " -std=c++20 -O2 -I" KILN_SOURCE_DIR " -x c++ " + input + " -c -o /dev/null";
}

void compile(benchmark::State& state, const std::string& line) {
  for (auto _ : state)
    if (std::system(line.c_str()) != 0) return state.SkipWithError("the compiler failed");
}

const bool registered = [] {
  for (const std::string compiler : {"g++", "clang++"}) {
    const auto add = [&](const std::string& name, const std::string& line) {
      benchmark::RegisterBenchmark((compiler + "/" + name).c_str(), compile, line)
          ->Unit(benchmark::kSecond)->UseRealTime()->Iterations(3);
    };
    add("nothing", command(compiler, "/dev/null"));
    add("dsl/dsl.hpp", command(compiler, "-include dsl/dsl.hpp /dev/null"));
    for (const std::string kernel : {"gemm_bf16", "gemm_bf16_basic", "copy_tma"})
      add(kernel, command(compiler, KILN_SOURCE_DIR "/kernels/" + kernel + ".cpp"));
  }
  return true;
}();

}  // namespace
