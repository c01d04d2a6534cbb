// A size in the command's JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "dsl/size.hpp"

namespace kiln::command {

/// A number, "128x256x64", or null where nothing is given.
inline nlohmann::ordered_json size_json(const dsl::Size& size) {
  if (!size.is_given()) return nullptr;
  if (size.extents().size() == 1) return size.extents()[0];
  return text(size);
}

}  // namespace kiln::command
