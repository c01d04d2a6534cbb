#include "ptx/ir/names.hpp"

namespace kiln::ir {

std::string_view role_of(const Code& code, const Operation& operation) {
  const std::string_view label = code.label_before(code.index(operation), role_prefix);
  return label.empty() ? label : label.substr(role_prefix.size());
}

std::string element_name(const std::string& symbol, std::uint64_t bytes, std::uint64_t offset,
                         std::uint64_t element_bytes) {
  if (bytes <= element_bytes && offset == 0) return symbol;
  if (offset % element_bytes == 0) return symbol + "[" + std::to_string(offset / element_bytes) + "]";
  return symbol + "+" + std::to_string(offset);
}

}  // namespace kiln::ir
