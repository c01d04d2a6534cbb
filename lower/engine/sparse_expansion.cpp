// A sparse A of 8-bit floats with its zeros, in registers: sm_90 has no tensor core for these, and what ptxas makes of
// mma.sp converts and moves metadata for each one.
#include "lower/engine/sparse.hpp"

namespace kiln::lower {

ExpansionCode::ExpansionCode(const FormCode& c)
    : code_(c),
      elements_(c.b.regs(ScalarType::b32, 8 * c.form.share.row_tiles())),
      in_zeros_(c.b.regs(ScalarType::b32, 2)),
      metadata_shift_(c.b.reg(ScalarType::b32)),
      source_(c.b.regs(ScalarType::b32, 2)),
      words_(c.b.regs(ScalarType::b32, 4)),
      first_lane_(c.b.reg(ScalarType::b32)) {}

void ExpansionCode::begin() const {
  Builder& b = code_.b;
  const Register lane = code_.engine.lane;
  b.op("and.b32", metadata_shift_, lane, 1);
  b.op("mad.lo.u32", in_zeros_[0], metadata_shift_, 2, 4);
  b.op("add.u32", in_zeros_[1], in_zeros_[0], 1);
  b.op("and.b32", metadata_shift_, lane, 3);
  b.op("shr.u32", source_[0], metadata_shift_, 1);
  b.op("shl.b32", metadata_shift_, metadata_shift_, 2);
  b.op("and.b32", first_lane_, lane, 28);
  b.op("add.u32", source_[0], source_[0], first_lane_);
  b.op("add.u32", source_[1], source_[0], 2);
}

void ExpansionCode::expand(int tile, const OperandCode& a, Register metadata) const {
  Builder& b = code_.b;
  for (int thread = 0; thread < 4; ++thread) {
    const Register lane = b.b32("add.u32", first_lane_, thread), word = words_[std::size_t(thread)];
    b.op("shfl.sync.idx.b32", word, metadata, lane, 31, all_lanes());
    b.op("shr.u32", word, word, metadata_shift_);
  }
  for (int half = 0; half < 2; ++half)
    for (int row = 0; row < 2; ++row)
      for (int quarter = 0; quarter < 2; ++quarter)
        expand_register(elements_[std::size_t(8 * tile + 4 * half + 2 * quarter + row)], a.fragment(2 * half + row),
                        words_[std::size_t(2 * half + row)], quarter);
}

// The four bits of metadata say where in four bytes of zeros two stored ones belong.
void ExpansionCode::expand_register(Register to, Register stored, Register metadata, int quarter) const {
  Builder& b = code_.b;
  b.op("shfl.sync.idx.b32", to, stored, source_[std::size_t(quarter)], 31, all_lanes());
  const Register low = b.b32("bfe.u32", metadata, 16 * quarter, 2);
  const Register high = b.b32("bfe.u32", metadata, 16 * quarter + 2, 2);
  b.op("shl.b32", low, low, 2);
  b.op("shl.b32", high, high, 2);
  b.op("shl.b32", low, in_zeros_[0], low);
  b.op("shl.b32", high, in_zeros_[1], high);
  b.op("xor.b32", low, low, high);
  b.op("xor.b32", low, low, bits(0x4444));
  b.op("prmt.b32", to, to, 0, low);
}

}  // namespace kiln::lower
