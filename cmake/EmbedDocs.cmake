# kiln_embed_docs(<target> <folder> <suffix> <function> <header>): compiles every file of the folder with that suffix into
# the target, which reads them with the function that the header declares: string_view function(string_view stem). As a
# script (cmake -D folder=... -D output=... -P) it writes that .cpp.
function(kiln_embed_docs target folder suffix function header)
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL "STATIC_LIBRARY")
    return()
  endif()
  file(GLOB pages CONFIGURE_DEPENDS ${folder}/*${suffix})
  set(output ${PROJECT_BINARY_DIR}/${target}_pages.cpp)
  set(script ${PROJECT_SOURCE_DIR}/cmake/EmbedDocs.cmake)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -D folder=${folder} -D suffix=${suffix} -D function=${function} -D header=${header}
      -D output=${output} -P ${script}
    DEPENDS ${pages} ${script} COMMENT "Embedding ${folder}" VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  return()
endif()

# Not file(READ): square brackets and semicolons of the text would become a list.
function(kiln_page_bytes path result)
  file(READ ${path} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REPEAT "0x..," 20 line)
  string(REGEX REPLACE "(${line})" "\\1\n  " bytes "${bytes}")
  set(${result} "${bytes}" PARENT_SCOPE)
endfunction()

file(GLOB pages ${folder}/*${suffix})
set(arrays "")
set(rows "")
set(index 0)
foreach(page IN LISTS pages)
  cmake_path(GET page STEM LAST_ONLY name)
  kiln_page_bytes(${page} bytes)
  string(APPEND arrays "const unsigned char page_${index}[] = {\n  ${bytes}0};  // ${name}\n")
  string(APPEND rows "  if (name == \"${name}\") return text(page_${index}, sizeof page_${index} - 1);\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${output}.new "// Generated from files of ${folder}.
#include <cstddef>

#include \"${header}\"

namespace {
${arrays}
[[maybe_unused]] std::string_view text(const unsigned char* page, std::size_t size) {
  return {reinterpret_cast<const char*>(page), size};
}

}  // namespace

std::string_view ${function}([[maybe_unused]] std::string_view name) {
${rows}  return {};
}
")
file(COPY_FILE ${output}.new ${output})
file(REMOVE ${output}.new)
