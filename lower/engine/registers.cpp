#include "lower/engine/registers.hpp"

#include <algorithm>

namespace kiln::lower {

EngineRegisters::EngineRegisters(Builder& b, const Plan& p) {
  int most = 1;
  for (const Share& s : p.shares) most = std::max(most, s.registers());
  sums = b.regs(ScalarType::b32, most);
  command = b.regs(ScalarType::b32, 4);
  for (Register* r : {&thread, &warp, &lane, &ticket, &slot, &next_slot, &parity, &signal, &count, &held, &wanted,
                      &image_written, &image_read, &return_to})
    *r = b.reg(p.home == Place::global && (r == &slot || r == &next_slot) ? ScalarType::b64 : ScalarType::b32);
  if (p.barrier == 0) meetings = b.reg(ScalarType::b32);
  for (Register* r : {&condition, &is_first_lane, &is_ready, &counts}) *r = b.reg(ScalarType::pred);
}

void EngineRegisters::find_self(Builder& b) const {
  b.op("shr.u32", warp, thread, 5);
  b.op("and.b32", lane, thread, 31);
}

}  // namespace kiln::lower
