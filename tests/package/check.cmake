# Installs Kiln from build_dir, builds this folder against it in work_dir, and asks the result what kernels it has.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${work_dir})
run(${CMAKE_COMMAND} --install ${build_dir} --prefix ${work_dir}/prefix)
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${work_dir}/build -G ${generator}
  -DCMAKE_PREFIX_PATH=${work_dir}/prefix -DCMAKE_CXX_COMPILER=${cxx} -DCMAKE_CXX_COMPILER_LAUNCHER=${launcher})
run(${CMAKE_COMMAND} --build ${work_dir}/build)

execute_process(COMMAND ${work_dir}/build/my_kernels list OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)
message("${listed}")
if(NOT listed MATCHES "my_copy")
  message(FATAL_ERROR "`my_kernels list` does not name the project's kernel my_copy")
endif()
run(${work_dir}/build/my_kernels run my_copy --n 72)
run(${work_dir}/prefix/bin/kiln --help)
set(module ${work_dir}/build/libmy_module.so)
run(${work_dir}/prefix/bin/kiln --kernels ${module} run my_copy --n 72)
run(${CMAKE_COMMAND} -E env KILN_KERNELS=${module} ${work_dir}/prefix/bin/kiln emit my_copy -o ${work_dir}/my_copy.ptx)
run(${work_dir}/prefix/bin/kiln check ${work_dir}/my_copy.ptx)
execute_process(COMMAND ${work_dir}/prefix/bin/kiln --kernels ${work_dir}/build/libold_module.so list
  ERROR_VARIABLE said RESULT_VARIABLE code)
if(NOT code EQUAL 2 OR NOT said MATCHES "was compiled for Kiln 0.0.9, and this is")
  message(FATAL_ERROR "a module of another version is not refused: ${code}, ${said}")
endif()
