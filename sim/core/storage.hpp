// Bytes that know whether they hold something: a byte that was never written, or was written with what came from such
// bytes, is poison (poison.hpp), never a zero.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace kiln::sim {

/// What fresh memory holds: all ones is a NaN in every floating-point type that has one.
inline constexpr std::uint8_t poison_byte = 0xFF;

/// Some bytes of a memory. `written` is null where every byte counts as written, else it holds 1 per byte, and 0 for
/// poison.
struct View {
  std::uint8_t* data = nullptr;
  std::uint8_t* written = nullptr;

  bool all_written(std::size_t bytes) const {
    if (!written) return true;
    if (bytes == 4) return marks<std::uint32_t>(0) == 0x01010101u;
    if (bytes == 8) return marks<std::uint64_t>(0) == all_marks;
    if (bytes == 16) return (marks<std::uint64_t>(0) & marks<std::uint64_t>(8)) == all_marks;
    return std::memchr(written, 0, bytes) == nullptr;
  }
  void mark(std::size_t bytes) const {
    if (written) std::memset(written, 1, bytes);
  }
  View from(std::size_t offset) const { return {data + offset, written ? written + offset : nullptr}; }

 private:
  static constexpr std::uint64_t all_marks = 0x0101010101010101u;
  template <class T>
  T marks(std::size_t at) const {
    T word;
    std::memcpy(&word, written + at, sizeof word);
    return word;
  }
};

/// A block of memory that starts out poisoned.
class Storage {
 public:
  void reset(std::size_t bytes) {
    bytes_.assign(bytes, poison_byte);
    written_.assign(bytes, 0);
  }
  std::size_t size() const { return bytes_.size(); }
  bool is_written(std::size_t at) const { return written_[at] != 0; }
  View view(std::size_t offset) { return {bytes_.data() + offset, written_.data() + offset}; }

  /// Copies n bytes out without a check.
  void read(std::size_t offset, void* out, std::size_t n) const { std::memcpy(out, bytes_.data() + offset, n); }
  void write(std::size_t offset, const void* from, std::size_t n) {
    std::memcpy(bytes_.data() + offset, from, n);
    std::memset(written_.data() + offset, 1, n);
  }
  void poison(std::size_t offset, std::size_t n) {
    std::memset(bytes_.data() + offset, poison_byte, n);
    std::memset(written_.data() + offset, 0, n);
  }

 private:
  std::vector<std::uint8_t> bytes_;
  std::vector<std::uint8_t> written_;
};

}  // namespace kiln::sim
