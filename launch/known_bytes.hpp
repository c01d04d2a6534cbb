// What a contract says of a launch before buffers have addresses: bytes of parameters, and what these point to.
#pragma once

#include <span>

#include "launch/contract.hpp"

namespace kiln::launch {

/// The bytes of a parameter that are numbers in the contract, by their offsets. Addresses and tensor maps are not.
std::map<std::uint32_t, std::uint8_t> known_bytes(const Param&);

/// By the parameter and the offset of a pointer in it: the bytes from where it points to the end of its buffer, where
/// these are what the launch finds: the buffer is filled, with something, and nothing else reaches it in this launch or
/// one before.
std::vector<std::map<std::uint32_t, std::span<const std::uint8_t>>> known_content(const Contract&, const Launch&);

}  // namespace kiln::launch
