// The parts of the contract's grammar, one function each; read_contract puts them together.
#pragma once

#include "harness/json_node.hpp"
#include "launch/contract.hpp"

namespace kiln::harness {

/// `"A": {"dtype", "shape", "init", "out"}`
launch::Buffer read_buffer(const std::string& name, const JsonNode&);

/// `"A_map": {"buffer", "dtype", "dims", ...}`; the buffers must have been read.
launch::TensorMap read_tensor_map(const JsonNode&, const launch::Contract&);

/// `{"u32": 8}`, `{"tensor_map": "A_map"}`, `{"buffer": "A", "offset": 16}`, `{"hex": "..."}`, `{"struct": [...],
/// "size"}`.
launch::Param read_param(const JsonNode&, const launch::Contract&, int depth = 0);

/// The type that a "dtype" names.
isa::ScalarType read_dtype(const JsonNode&);

}  // namespace kiln::harness
