// Launches that no device accepts, and how many CTAs share a streaming multiprocessor (SM).
#pragma once

#include <optional>
#include <string>

#include "launch/contract.hpp"
#include "ptx/isa/targets.hpp"

namespace kiln::launch {

/// Why a launch is impossible: a key of the contract, and the reason in one line.
struct Misfit {
  std::string key{};
  std::string why{};
};

/// What a CTA of the kernel takes. `registers` of a thread; an upper bound, when it is not known better.
struct Needs {
  std::uint64_t shared_bytes = 0;  // static and dynamic
  std::uint32_t registers = 0;
};

/// Extents that are empty or too large, and a grid that does not divide into clusters; `cluster` is what the launch or
/// the kernel asks for.
std::optional<Misfit> misfit(const Launch&, Dim3 cluster);
/// More shared memory or registers than a CTA may have; registers of 0 are not known.
std::optional<Misfit> misfit(const Launch&, const Needs&, isa::Target);
/// More CTAs on an SM than fit; `cluster` as above.
std::optional<Misfit> misfit_residents(const Launch&, const Needs&, isa::Target, Dim3 cluster);

/// Streaming multiprocessors (SMs) of the chip that a launch is thought to run on: those of a B200.
inline constexpr std::uint32_t chip_sms = 148;

/// CTAs that an SM has room for, tensor memory left out of account: it is given out later.
std::uint32_t residents(const Launch&, const Needs&, isa::Target);

}  // namespace kiln::launch
