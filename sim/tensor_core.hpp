// One tcgen05.mma or tcgen05.cp as its unit executes it: operands gathered from shared and tensor memory through their
// descriptors, multiplied by ptx/num, written back through the accumulator's layout.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ptx/isa/instruction_descriptor.hpp"
#include "ptx/isa/shared_descriptor.hpp"
#include "ptx/isa/tmem.hpp"
#include "sim/machine.hpp"

namespace kiln::sim {

/// What one thread asked for with tcgen05.mma, as values: nothing here changes after issue.
struct MmaTask {
  const ir::Operation* operation = nullptr;
  isa::MmaKind kind = isa::MmaKind::f16;
  isa::CtaGroup group = isa::CtaGroup::one;
  bool ws = false;
  isa::InstructionDescriptorFields shape{};
  std::uint32_t d = 0;  // tensor-memory address
  bool a_in_tmem = false;
  std::uint32_t a_tmem = 0;
  isa::SharedDescriptorFields a{}, b{};
  isa::Swizzle a_swizzle = isa::Swizzle::none, b_swizzle = isa::Swizzle::none;
  bool accumulate = false;  // enable-input-d
  int scale_input_d = 0;
  int scale_vector = 0;                     // scales per row of block-scaled kinds
  std::uint32_t sfa = 0, sfb = 0;           // tensor-memory addresses
  std::array<std::uint32_t, 8> disabled{};  // bit per lane that is not written

  int k() const;
  /// CTAs that take part.
  int members() const { return group == isa::CtaGroup::two ? 2 : 1; }
  isa::DataPath path() const { return isa::data_path(shape.m, group, false, ws); }
};

/// Faults unless the task may be issued: columns allocated, operands inside shared memory, in both CTAs of a pair.
void check_mma(const MmaTask& task, Cta& issuer);
/// Executes the task on the CTAs' memories as they are now.
void execute_mma(Grid& grid, const MmaTask& task, Cta& issuer);

/// tcgen05.cp: `rows` x `row_bytes` from shared to tensor memory. Each source row goes to `copies` lanes.
struct CopyTask {
  const ir::Operation* operation = nullptr;
  isa::DataShape shape = isa::DataShape::s128x256b;
  isa::CpMulticast multicast = isa::CpMulticast::none;
  std::uint32_t to = 0;
  isa::SharedDescriptorFields from{};
  isa::Swizzle swizzle = isa::Swizzle::none;
};
void check_copy(const CopyTask& task, Cta& cta);
void execute_copy(Grid& grid, const CopyTask& task, Cta& cta);

/// tcgen05.shift.down: eight columns move up by one lane in each quarter.
void execute_shift(std::uint32_t address, Cta& cta);

}  // namespace kiln::sim
