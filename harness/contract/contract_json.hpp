// Launch contracts as JSON (docs/launch-contract.md), read strictly and written back.
#pragma once

#include <string>
#include <string_view>

#include "launch/contract.hpp"

namespace kiln::harness {

/// Reads a contract. Throws InputError with one line, "NAME: /json/pointer: what must hold; got X": for bad JSON (then
/// with line and column), unknown or duplicate keys, values out of range, references to what is not there, tensors that
/// reach beyond their buffer, and the features that Kiln does not carry yet, by name. Whether TMA takes a tensor map is
/// for verifier::check_contract to say.
launch::Contract read_contract(std::string_view json, const std::string& name);

/// Reads a contract from a file.
launch::Contract read_contract_file(const std::string& path);

/// The contract as JSON that read_contract reads back equal. Content of buffers is not written, only how they are
/// filled.
std::string write_contract(const launch::Contract&);

}  // namespace kiln::harness
