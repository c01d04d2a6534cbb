#include "ptx/diag/source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "ptx/diag/error.hpp"

namespace kiln::diag {

Source::Source(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {
  if (text_.size() >= std::numeric_limits<std::uint32_t>::max()) throw InputError(name_ + ": larger than 4 GiB");
  line_starts_.push_back(0);
  for (std::size_t i = 0; i < text_.size(); ++i)
    if (text_[i] == '\n' && i + 1 < text_.size()) line_starts_.push_back(std::uint32_t(i + 1));
}

std::string_view Source::text(Place p) const {
  const auto size = std::uint32_t(text_.size());
  const std::uint32_t begin = std::min(p.begin, size), end = std::clamp(p.end, begin, size);
  return std::string_view(text_).substr(begin, end - begin);
}

LineColumn Source::position(std::uint32_t offset) const {
  const auto next = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  const auto line = int(next - line_starts_.begin());
  return {line, int(offset - line_starts_[std::size_t(line - 1)]) + 1};
}

std::string_view Source::line(int number) const {
  if (number < 1 || number > line_count()) return {};
  std::string_view rest = std::string_view(text_).substr(line_starts_[std::size_t(number - 1)]);
  rest = rest.substr(0, rest.find('\n'));
  if (!rest.empty() && rest.back() == '\r') rest.remove_suffix(1);
  return rest;
}

SourcePtr Source::read(const std::string& path) {
  std::error_code status;
  if (std::filesystem::is_directory(path, status)) throw InputError(path + ": is a directory");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError(path + ": " + std::strerror(errno));
  std::ostringstream text;
  text << in.rdbuf();
  if (in.bad()) throw InputError(path + ": cannot be read");
  return std::make_shared<const Source>(path, std::move(text).str());
}

}  // namespace kiln::diag
