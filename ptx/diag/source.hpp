// One text that diagnostics point into: a PTX file, or the PTX that a kernel was emitted as.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::diag {

/// A half-open range of byte offsets into a Source. Empty at {0, 0}: no place.
struct Place {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  constexpr bool empty() const { return begin == end; }
  constexpr std::uint32_t size() const { return end - begin; }
};

/// 1-based line and 1-based column, in bytes.
struct LineColumn {
  int line = 0;
  int column = 0;
};

/// A named text with a line index. Immutable; shared by the module parsed from it and the diagnostics about it.
class Source {
 public:
  Source(std::string name, std::string text);

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  std::string_view text(Place p) const;

  LineColumn position(std::uint32_t offset) const;
  /// The text of a 1-based line without its line break; empty when there is no such line.
  std::string_view line(int number) const;
  int line_count() const { return int(line_starts_.size()); }

  /// Reads a whole file. Throws InputError naming the file and the reason.
  static std::shared_ptr<const Source> read(const std::string& path);

 private:
  std::string name_;
  std::string text_;
  std::vector<std::uint32_t> line_starts_;
};

using SourcePtr = std::shared_ptr<const Source>;

}  // namespace kiln::diag
