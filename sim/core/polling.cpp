#include "sim/core/polling.hpp"

#include "sim/core/memory_access.hpp"

namespace kiln::sim {

void note_poll(Context& c, const Inst& i, Mask lanes) {
  Poll& poll = c.fragment->poll;
  const int lane = first_lane(lanes);
  if (poll.activity != c.cluster->activity()) poll = {};
  poll.activity = c.cluster->activity();
  ++poll.count;
  poll.pc = c.fragment->pc;
  poll.address = c.address(i, lane);
  poll.value = c.read(c.slot(i, 0), lane);
  poll.global = isa::Space(i.space) == isa::Space::global ||
                (isa::Space(i.space) == isa::Space::generic &&
                 locate(c, isa::Space::generic, poll.address, 1, 1, lane).space == isa::Space::global);
}

}  // namespace kiln::sim
