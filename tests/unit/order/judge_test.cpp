// The table of ptx/order: each row can be broken, and by its own need alone.
#include "ptx/order/judge.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace kiln;
using order::Need;
using order::Pair;
using order::Proxy;

namespace {

// Everything is known but one need.
struct AllBut {
  std::optional<Need> missing{};
  bool same_warp = false, same_threads = false, morally_strong = false, same_accumulator = false;

  bool has(Need n) const { return missing != n; }
  bool are_morally_strong() const { return morally_strong; }
  bool is_same_warp() const { return same_warp; }
  bool are_same_threads() const { return same_threads; }
  bool is_same_accumulator() const { return same_accumulator; }
  bool is_met() const { return has(Need::met); }
  bool has_ended() const { return has(Need::ended); }
  bool is_over() const {
    return is_met() && has_ended() && has(Need::over) && has(Need::over_or_issued) && has(Need::pipe_fence);
  }
  bool is_issued() const { return has(Need::over_or_issued); }
  bool is_proxy_fenced() const { return has(Need::proxy_fence); }
  bool is_map_fenced() const { return has(Need::map_fence); }
  bool is_tensor_fenced() const { return has(Need::tensor_fence); }
  bool is_issue_tensor_fenced() const { return has(Need::pipe_fence); }
};

struct Example {
  Pair pair;
  order::Access earlier, later;
  AllBut known{};
};

ir::Operation operation(isa::Opcode opcode) {
  ir::Operation op;
  op.opcode = opcode;
  return op;
}

ir::Operation warp_wide(isa::Opcode opcode) {
  ir::Operation op = operation(opcode);
  op.modifiers.aligned = true;
  return op;
}

const ir::Operation st = operation(isa::Opcode::st), mma = operation(isa::Opcode::tcgen05_mma),
                    cp = operation(isa::Opcode::tcgen05_cp), ld = operation(isa::Opcode::tcgen05_ld),
                    alloc = operation(isa::Opcode::tcgen05_alloc), dealloc = operation(isa::Opcode::tcgen05_dealloc),
                    copy = operation(isa::Opcode::cp_async_bulk), matrix = warp_wide(isa::Opcode::stmatrix);

std::vector<Example> examples() {
  const order::Access write{&st, Proxy::generic, true, false}, read{&st, Proxy::generic, false, false};
  const order::Access bulk{&copy, Proxy::async, true, true}, copied{&copy, Proxy::generic, true, true};
  const order::Access copy_source{&copy, Proxy::generic, false, true}, map{&copy, Proxy::tensormap, false, false};
  const order::Access product{&mma, Proxy::tensor_memory, true, true}, copied_in{&cp, Proxy::tensor_memory, true, true};
  const order::Access load{&ld, Proxy::tensor_memory, false, true}, freed{&dealloc, Proxy::tensor_memory, true, false};
  AllBut in_warp, in_thread;
  in_warp.same_warp = true;
  in_thread.same_warp = in_thread.same_threads = true;
  const order::Access bulk_source{&copy, Proxy::async, false, true}, rows{&matrix, Proxy::generic, true, false};
  const order::Access slot{&alloc, Proxy::generic, true, false};
  return {{Pair::threads, write, write},
          {Pair::in_warp, rows, read, in_warp},
          {Pair::in_warp, write, rows, in_warp},
          {Pair::allocated, slot, read},
          {Pair::from_async, bulk, read},
          {Pair::from_async_read, bulk_source, write},
          {Pair::write_to_async, write, bulk},
          {Pair::read_to_async, read, bulk},
          {Pair::copied_to_async, copied, bulk},
          {Pair::copy_source_to_async, copy_source, bulk},
          {Pair::write_to_map, write, map},
          {Pair::copied_to_map, copied, map},
          {Pair::tensor, product, load},
          {Pair::tensor_in_warp, product, load, in_warp},
          {Pair::tensor_to_free, product, freed},
          {Pair::pipe_unlisted, product, copied_in, in_thread},
          {Pair::pipe_between_threads, copied_in, product}};
}

}  // namespace

TEST_CASE("there is an example of every kind of pair, and it is recognised") {
  std::set<Pair> seen;
  for (const Example& x : examples()) {
    CHECK(order::pair_of(x.earlier, x.later, x.known) == x.pair);
    seen.insert(x.pair);
  }
  for (const order::PairNeed& row : order::pair_needs) CHECK(seen.contains(row.pair));
}

TEST_CASE("a pair is in order where all its needs are met, and breaks the rule of the one that is not") {
  for (const Example& x : examples()) {
    CHECK(order::judge(x.earlier, x.later, x.known) == std::nullopt);
    for (const order::PairNeed& row : order::pair_needs) {
      if (row.pair != x.pair) continue;
      AllBut known = x.known;
      known.missing = row.need;
      CHECK(order::judge(x.earlier, x.later, known) == row.rule(false).rule);
    }
  }
}

TEST_CASE("two reads, morally strong accesses and two deallocations need nothing") {
  AllBut nothing;
  nothing.missing = Need::over;
  const order::Access read{&st, Proxy::generic, false, false}, write{&st, Proxy::generic, true, false};
  const order::Access freed{&dealloc, Proxy::tensor_memory, true, false};
  CHECK(order::judge(read, read, nothing) == std::nullopt);
  CHECK(order::judge(freed, freed, nothing) == std::nullopt);
  CHECK(order::judge(write, write, nothing) == rules::Rule::race);
  const order::Access rows{&matrix, Proxy::generic, true, false};
  nothing.same_warp = true;
  CHECK(order::judge(rows, rows, nothing) == rules::Rule::race);  // lanes of one instruction
  nothing.morally_strong = true;
  CHECK(order::judge(write, write, nothing) == std::nullopt);
}

TEST_CASE("pairs that PTX lists as pipelined are in the order in which one thread issues them") {
  AllBut known;
  known.missing = Need::over;
  known.same_warp = known.same_threads = true;
  const order::Access product{&mma, Proxy::tensor_memory, true, true}, copied{&cp, Proxy::tensor_memory, true, true};
  CHECK(order::judge(copied, product, known) == std::nullopt);
  CHECK(order::judge(product, product, known) == rules::Rule::tcgen05_pipeline);  // another accumulator
  known.same_accumulator = true;
  CHECK(order::judge(product, product, known) == std::nullopt);
}
