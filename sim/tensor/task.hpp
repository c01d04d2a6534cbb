// One tcgen05.mma or tcgen05.cp as values.
#pragma once

#include <array>
#include <cstdint>

#include "ptx/isa/mma_form.hpp"
#include "ptx/isa/shared_descriptor.hpp"
#include "ptx/isa/tmem.hpp"
#include "ptx/isa/zero_mask.hpp"
#include "sim/core/machine.hpp"

namespace kiln::sim {

/// One tcgen05.mma with the values of its operands; nothing here changes after issue.
struct MmaTask {
  const ir::Operation* operation = nullptr;
  isa::MmaForm form{};
  isa::InstructionDescriptorFields shape{};
  u32 d = 0;       // tensor-memory address
  u32 a_tmem = 0;  // of A, if the form has it in tensor memory
  isa::SharedDescriptorFields a{}, b{};
  isa::Swizzle a_swizzle = isa::Swizzle::none, b_swizzle = isa::Swizzle::none;
  bool accumulate = false;  // enable-input-d
  int scale_input_d = 0;
  int scale_vector = 0;           // scales per row of block-scaled kinds
  u32 sfa = 0, sfb = 0;           // tensor-memory addresses
  u32 metadata = 0;               // tensor-memory address of a sparse A's
  isa::ZeroMaskFields mask{};     // .ws: columns of B that are taken as zeros, and its shift
  std::array<u32, 8> disabled{};  // bit per lane that is not written

  /// Elements along K before A is compressed.
  int k() const { return isa::mma_k(form.kind, form.sparse, shape.k96); }
  /// CTAs that take part.
  int members() const { return form.group == isa::CtaGroup::two ? 2 : 1; }
  /// Rows of A in one CTA.
  int rows() const { return shape.m / members(); }
  isa::DataPath path() const { return isa::data_path(shape.m, form.group, form.sparse, form.ws); }
  isa::ScalarType a_type() const { return isa::operand_type(form.kind, shape.a_type); }
  isa::ScalarType b_type() const { return isa::operand_type(form.kind, shape.b_type); }
  /// First column of the metadata: the descriptor chooses one of a pair.
  int metadata_column() const { return int(metadata & 0xFFFF) + shape.selector; }
};

/// The `k`th CTA that a task of `issuer` works on.
Cta& member(const MmaTask& task, Cta& issuer, int k);

/// tcgen05.cp: rows from shared to tensor memory. Each source row goes to one lane or more.
struct CopyTask {
  const ir::Operation* operation = nullptr;
  isa::DataShape shape = isa::DataShape::s128x256b;
  isa::CpMulticast multicast = isa::CpMulticast::none;
  isa::CpSourceFormat source = isa::CpSourceFormat::none;  // elements that are widened to bytes
  u32 to = 0;
  isa::SharedDescriptorFields from{};
  isa::Swizzle swizzle = isa::Swizzle::none;
};

/// The dot product that the task computes.
num::DotSpec spec_of(const MmaTask& task);
num::Arithmetic arithmetic_of(const Grid& grid);
/// Whether a lane of D is masked: disable-output-lane.
bool is_disabled(const MmaTask& task, const Cta& cta, int lane);
/// The read that found the poison of a cell in column `at`: the task's read of `what`, which begins in this column, if
/// the cell was never written.
PoisonSource poison_source(const MmaTask& task, const Cta& cta, int at, const char* what, int column);

}  // namespace kiln::sim
