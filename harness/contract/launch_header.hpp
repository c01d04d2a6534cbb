// A kernel and one launch of it as a C++ header: the cubin as bytes, and code that loads it and starts it through the
// CUDA driver API. What the contract says of buffers stays the caller's business.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/contract.hpp"
#include "ptx/isa/targets.hpp"

namespace kiln::harness {

/// What goes into a header.
struct HeaderJob {
  std::string name{};    // of the namespace: the kernel's
  std::string entry{};   // in the cubin
  std::string origin{};  // one line: "gemm_v6, sm_100a, m=512 n=512 k=512"
  isa::Target target{};
  std::vector<std::uint8_t> cubin{};
};

/// The text of the header. Throws InputError for a contract of several launches, and for tensor maps that have
/// no code yet (im2col).
std::string write_launch_header(const HeaderJob& job, const launch::Contract& contract);

/// A kernel of a GEMM, for the sizes of its contract.
struct GemmHeaderPart {
  HeaderJob job{};
  launch::Contract contract{};
  std::uint64_t m = 0, n = 0, k = 0;
};

/// Headers of kernels of one type, and a class over them, kiln_kernels::gemm::TYPE::Gemm: one call with sizes and
/// pointers starts the kernel of that shape. Throws InputError as above, and where a shape is there twice.
std::string write_gemm_header(const std::string& type, const std::vector<GemmHeaderPart>& parts);

}  // namespace kiln::harness
