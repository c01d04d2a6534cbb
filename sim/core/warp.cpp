#include "sim/core/warp.hpp"

#include <algorithm>
#include <cstring>

namespace kiln::sim {
namespace {

void broadcast(std::byte* registers, const Constant& c) {
  std::byte* at = registers + c.offset;
  if (c.bytes == 0) {
    const Mask m = c.value ? all_lanes : 0;
    std::memcpy(at, &m, sizeof m);
    return;
  }
  for (int l = 0; l < warp_lanes; ++l) std::memcpy(at + l * c.bytes, &c.value, std::min<std::size_t>(c.bytes, 8));
}

}  // namespace

void Warp::start(const Program& program, std::uint32_t warp_index, Mask lanes) {
  // Registers start as all ones: a NaN, so that a value that was never computed shows.
  file_.assign((program.file_bytes + 7) / 8, ~std::uint64_t{0});
  registers = reinterpret_cast<std::byte*>(file_.data());
  for (const Constant& c : program.constants) broadcast(registers, c);
  kernel_end_ = program.kernel_end;
  index = warp_index;
  live = lanes;
  carry = 0;
  asked = 0;
  cluster_tokens = {};
  cluster_arrived = 0;
  loads_pending = false;
  holds_registers = false;
  poison.reset();
  fragments[0] = {};
  fragments[0].lanes = lanes;
  fragment_count = 1;
}

bool Warp::runnable() const {
  for (int i = 0; i < fragment_count; ++i)
    if (!fragments[std::size_t(i)].blocked) return true;
  return false;
}

void Warp::wake(WaitKind kind) {
  for (int i = 0; i < fragment_count; ++i)
    if (Fragment& f = fragments[std::size_t(i)]; f.wait.kind == kind) f.blocked = false;
}

void Warp::wake_all() {
  for (int i = 0; i < fragment_count; ++i) fragments[std::size_t(i)].blocked = false;
}

int Warp::outermost(bool highest) const {
  int best = -1;
  for (int i = 0; i < fragment_count; ++i) {
    const Fragment& f = fragments[std::size_t(i)];
    // Counted from the first function: the kernel's places wrap around and follow the last.
    if (f.blocked) continue;
    const std::uint32_t place = f.pc - kernel_end_;
    const std::uint32_t other = best < 0 ? 0 : fragments[std::size_t(best)].pc - kernel_end_;
    if (best < 0 || (highest ? place > other : place < other)) best = i;
  }
  return best;
}

int Warp::any(Random& random) const {
  int runnable = 0;
  for (int i = 0; i < fragment_count; ++i) runnable += !fragments[std::size_t(i)].blocked;
  if (!runnable) return -1;
  int skip = int(random.below(std::uint32_t(runnable)));
  for (int i = 0; i < fragment_count; ++i)
    if (!fragments[std::size_t(i)].blocked && skip-- == 0) return i;
  return -1;
}

int Warp::holding(int lane) const {
  for (int i = 0; i < fragment_count; ++i)
    if (fragments[std::size_t(i)].lanes >> lane & 1) return i;
  return -1;
}

Fragment& Warp::split(std::uint32_t pc, Mask lanes) {
  Fragment& f = fragments[std::size_t(fragment_count++)];
  f = {};
  f.pc = pc;
  f.lanes = lanes;
  return f;
}

int Warp::tidy(int current) {
  const auto remove = [&](int i) {
    const int last = --fragment_count;
    if (i != last) fragments[std::size_t(i)] = fragments[std::size_t(last)];
    if (current == i)
      current = -1;
    else if (current == last)
      current = i;
  };
  for (int i = fragment_count - 1; i >= 0; --i)
    if (fragments[std::size_t(i)].lanes == 0) remove(i);
  for (int i = 0; i < fragment_count; ++i) {
    for (int j = fragment_count - 1; j > i; --j) {
      Fragment &x = fragments[std::size_t(i)], &y = fragments[std::size_t(j)];
      if (x.pc != y.pc || x.arrived || y.arrived || x.released || y.released) continue;
      x.lanes |= y.lanes;
      x.blocked = false;  // together they may be what the instruction waits for
      if (current == j) current = i;
      remove(j);
    }
  }
  return current;
}

}  // namespace kiln::sim
