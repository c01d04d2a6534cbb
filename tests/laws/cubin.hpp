// The sections of a cubin, which is an ELF64 file of the host's byte order. Just enough of one to compare two.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace kiln::test {

class Cubin {
 public:
  /// Throws std::runtime_error when the bytes are no ELF64 file.
  explicit Cubin(std::string bytes) : bytes_(std::move(bytes)) {
    if (bytes_.size() < header_size || bytes_.compare(0, 4, "\177ELF") != 0 || bytes_[4] != 2)
      throw std::runtime_error("not an ELF64 file");
    const auto table = read<std::uint64_t>(0x28);
    const auto entry_size = read<std::uint16_t>(0x3A), count = read<std::uint16_t>(0x3C);
    const std::string_view strings = section(table + std::uint64_t(read<std::uint16_t>(0x3E)) * entry_size);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t header = table + i * entry_size;
      const char* const name = strings.data() + read<std::uint32_t>(header);
      sections_[name] += section(header);
    }
  }

  /// What the GPU executes and what it finds in memory, by section: .text.<function>, .nv.constant*, .nv.global*.
  std::map<std::string, std::string> code_and_data() const {
    std::map<std::string, std::string> out;
    for (const auto& [name, bytes] : sections_)
      for (const std::string_view prefix : {".text.", ".nv.constant", ".nv.global"})
        if (name.starts_with(prefix)) out.emplace(name, bytes);
    return out;
  }

 private:
  static constexpr std::size_t header_size = 64;
  static constexpr std::uint32_t no_bits = 8, cuda_shared = 0x7000000A;  // section types that take no bytes of the file

  template <class T>
  T read(std::uint64_t at) const {
    T value;
    if (at + sizeof value > bytes_.size()) throw std::runtime_error("an ELF header is outside of the file");
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }

  std::string_view section(std::uint64_t header) const {
    const auto at = read<std::uint64_t>(header + 0x18), size = read<std::uint64_t>(header + 0x20);
    if (const auto type = read<std::uint32_t>(header + 4); type == no_bits || type == cuda_shared) return {};
    if (at > bytes_.size() || size > bytes_.size() - at)
      throw std::runtime_error("an ELF section is outside of the file");
    return std::string_view(bytes_).substr(at, size);
  }

  std::string bytes_;
  std::map<std::string, std::string> sections_{};
};

}  // namespace kiln::test
