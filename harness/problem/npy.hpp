// NumPy's .npy files, formats 1 to 3. Types that NumPy does not have travel as raw unsigned words: bf16 as u2, fp8 as
// u1, fp6 and fp4 packed in u1 (the first element in the lowest bits), so that the last extent counts bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/contract.hpp"

namespace kiln::harness {

/// An array as a .npy file holds it: little endian, C order.
struct NpyArray {
  std::string dtype{};                 // "f4", "u2", ...: NumPy's code without the byte order
  std::vector<std::uint64_t> shape{};  // slowest first; empty: one element
  std::vector<std::uint8_t> bytes{};
};

/// Reads a .npy file. Throws InputError naming the file for what is no such file, big-endian or Fortran-ordered arrays,
/// structured types, and files shorter or longer than their header says.
NpyArray read_npy(const std::string& path);

/// Writes a .npy file of format 1.0 as a whole. Throws InputError when the file cannot be written.
void write_npy(const std::string& path, const NpyArray&);

/// The NumPy code that elements of this type travel as: "f2" for f16, "u2" for bf16, "u1" for fp8, fp6 and fp4.
std::string npy_dtype(isa::ScalarType);

/// Fills a buffer from a file whose type and shape must be the buffer's. Throws InputError naming the file, what the
/// buffer expects and what the file has.
void load_npy(const std::string& path, launch::Buffer&);

/// Writes a buffer's content with its shape.
void save_npy(const std::string& path, const launch::Buffer&);

}  // namespace kiln::harness
