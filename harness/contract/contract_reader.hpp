// The parts of the contract's grammar, one function each; read_contract puts them together.
#pragma once

#include "harness/json/json_node.hpp"
#include "launch/contract.hpp"

namespace kiln::harness {

/// Whole numbers up to this are integers in a contract: Init carries numbers as doubles.
inline constexpr std::int64_t max_exact_integer = std::int64_t{1} << 53;

/// `"A": {"dtype", "shape", "init", "out"}`
launch::Buffer read_buffer(const std::string& name, const JsonNode&);

/// `"A_map": {"buffer", "dtype", "dims", ...}`; the buffers must have been read.
launch::TensorMap read_tensor_map(const JsonNode&, const launch::Contract&);

/// `{"u32": 8}`, `{"tensor_map": "A_map"}`, `{"buffer": "A", "offset": 16}`, `{"hex": "..."}`, `{"struct": [...],
/// "size"}`.
launch::Param read_param(const JsonNode&, const launch::Contract&, int depth = 0);

/// Reports what `check` finds wrong with buffers at the place where the contract names them.
template <class Check>
void check_at(const JsonNode& node, Check check) {
  try {
    check();
  } catch (const diag::InputError& wrong) {
    node.fail("{}", wrong.what());
  }
}

/// The buffer that a string names.
const launch::Buffer& read_buffer_name(const JsonNode&, const launch::Contract&);

/// `"D": {"gemm": {"a", "b", ...}, "rtol"}` or `{"copy", "zeros_before"}`; the buffers must have been read.
launch::Expectation read_expectation(const std::string& output, const JsonNode&, const launch::Contract&);

/// The type that a "dtype" names.
isa::ScalarType read_dtype(const JsonNode&);

}  // namespace kiln::harness
