// The parameter bytes that a contract fixes before buffers have addresses.
#pragma once

#include "launch/contract.hpp"

namespace kiln::launch {

/// The bytes of a parameter that are numbers in the contract, by their offsets. Addresses and tensor maps are not.
std::map<std::uint32_t, std::uint8_t> known_bytes(const Param&);

}  // namespace kiln::launch
