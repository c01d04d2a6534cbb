# Builds one fuzz target with clang++ and runs it on its seeds for some seconds.
cmake_minimum_required(VERSION 3.25)

if(NOT cxx)
  message("SKIPPED: no clang++ to build the fuzz target with")
  return()
endif()

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run(${CMAKE_COMMAND} -S ${source_dir} -B ${build_dir} -G ${generator} -DCMAKE_CXX_COMPILER=${cxx}
  -DCMAKE_CXX_COMPILER_LAUNCHER=${launcher} -DCMAKE_BUILD_TYPE=Release -DKILN_SANITIZE=fuzzer-no-link,address
  -DKILN_BUILD_FUZZERS=ON -DKILN_BUILD_TESTS=OFF -DKILN_BUILD_BENCH=OFF)
run(${CMAKE_COMMAND} --build ${build_dir} --target fuzz_${target})

# The run writes what it finds to its own corpus and never to the seeds.
set(corpus ${build_dir}/corpus/${target})
file(MAKE_DIRECTORY ${corpus})
run(${build_dir}/fuzz/fuzz_${target} -max_total_time=${seconds} -timeout=10 -artifact_prefix=${build_dir}/
  ${corpus} ${source_dir}/tests/fuzz/seeds/${target})
