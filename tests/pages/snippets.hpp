// The kernels that pages show, as tools/snippets prints them.
#pragma once

#include <span>
#include <string_view>

#include "dsl/dsl.hpp"

namespace kiln::pages {

/// A block of a page: the kernel that it builds, and whether exploring proves its synchronisation.
struct Snippet {
  std::string_view place;  // "provable.md:31"
  dsl::Kernel (*build)();
  bool is_proven;
};
std::span<const Snippet> snippets();

}  // namespace kiln::pages
