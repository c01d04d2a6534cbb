#include "harness/host/write_all.hpp"

#include <unistd.h>

#include <cerrno>

namespace kiln::harness {

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(descriptor, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(std::size_t(n));
  }
  return true;
}

}  // namespace kiln::harness
