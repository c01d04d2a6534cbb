// The operations that write and that read each register.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ptx/ir/code.hpp"

namespace kiln::flow {

/// The operations that write and read each register, in program order, without a thought for paths.
class Definitions {
 public:
  explicit Definitions(const ir::Code&);

  /// Operations that write the register; empty for one that holds an argument or nothing.
  std::span<const std::uint32_t> writers(ir::RegisterId r) const { return writers_.of(r); }
  std::span<const std::uint32_t> readers(ir::RegisterId r) const { return readers_.of(r); }
  /// Registers that the operation writes, in operand order.
  std::span<const std::uint32_t> written(std::uint32_t operation) const { return written_.of(operation); }
  std::span<const std::uint32_t> read(std::uint32_t operation) const { return read_.of(operation); }
  /// The only operation that writes the register; null when there is none or several.
  const ir::Operation* only_writer(ir::RegisterId r) const;

 private:
  // Lists of numbers, one after the other.
  struct Lists {
    std::vector<std::uint32_t> start{0};
    std::vector<std::uint32_t> items{};
    std::span<const std::uint32_t> of(std::uint32_t i) const {
      return std::span(items).subspan(start[i], start[i + 1] - start[i]);
    }
    void append(std::span<const std::uint32_t> list);
    Lists inverted(std::size_t size) const;
  };
  const ir::Code* code_;
  Lists written_, read_, writers_, readers_;
};

}  // namespace kiln::flow
