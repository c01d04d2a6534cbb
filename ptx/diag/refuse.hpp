// Refusals of what the user gave, with a message that is put together.
#pragma once

#include <fmt/format.h>

#include "ptx/diag/error.hpp"

namespace kiln::diag {

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) {
  throw InputError(fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace kiln::diag
