// Kernels in a shared object of their own, which an installed command loads (CMake: kiln_add_module; $KILN_KERNELS or
// --kernels names it): what the two must agree on.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "dsl/entry.hpp"

namespace kiln::dsl {

/// What a module offers, and what it was compiled against. The command refuses a module of another version, or one
/// whose compiler lays out these types in another way.
struct KernelModule {
  const char* version;                 // of Kiln
  std::array<std::uint32_t, 4> sizes;  // bytes of types that both hand to each other
  /// Its table.
  std::span<const Entry> (*kernels)();
};

/// The name of the KernelModule that a module exports.
inline constexpr const char* module_symbol = "kiln_kernel_module";

/// The bytes of Entry, Kernel, launch::Contract and diag::InputError for this compiler.
constexpr std::array<std::uint32_t, 4> module_sizes() {
  return {sizeof(Entry), sizeof(Kernel), sizeof(launch::Contract), sizeof(diag::InputError)};
}

}  // namespace kiln::dsl
