// What `kiln check` is given: PTX files, CUDA programs and binaries, by name or in a folder, the PTX in them, and
// kernels of the table.
#pragma once

#include <string>
#include <vector>

#include "ptx/diag/source.hpp"

namespace kiln::command {

/// A file that has PTX in it, or a kernel that is written as PTX.
struct Input {
  enum class Kind : unsigned char {
    ptx,     // PTX itself; stdin is "-"
    cuda,    // a .cu file, which nvcc makes PTX of
    binary,  // a cubin, a fatbin or a program, in which cuobjdump finds PTX
    kernel,  // a kernel of the table
  };
  std::string path{};  // or the kernel's name
  Kind kind = Kind::ptx;
};

/// The files and kernels that the names mean, in order: a folder means every .ptx, .cu, .cubin and .fatbin file in it
/// and below, sorted, but for folders whose names begin with a dot. Throws InputError for a folder without such a file.
std::vector<Input> find_inputs(const std::vector<std::string>& names);

/// A tool of CUDA: the one in $PATH, else in $CUDA_HOME/bin, a Python package of NVIDIA's in the environment that this
/// program was installed into, or /usr/local/cuda/bin; empty when there is none.
std::string find_cuda_tool(const std::string& name);
/// Where it looks, in words.
inline constexpr const char* cuda_tool_places =
    "$PATH, $CUDA_HOME/bin, Python packages beside kiln, /usr/local/cuda/bin";

/// PTX cannot be taken out of this file: a tool is missing or fails. It is not judged, and nothing is wrong with it.
struct NotExtracted {
  std::string why;
};

/// The PTX of a file. That of a CUDA program is named "program.cu(ptx)", that of a binary "kernels.fatbin(2.sm_90)".
/// `nvcc_options` are words for nvcc. Throws InputError when the file cannot be read, NotExtracted when nvcc or
/// cuobjdump do not deliver.
std::vector<diag::SourcePtr> texts_of(const Input&, const std::vector<std::string>& nvcc_options);

}  // namespace kiln::command
