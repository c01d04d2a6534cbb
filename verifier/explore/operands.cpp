// Operands of MMAs in shared memory: which bytes they read, and whether those lie as copies have left them.
#include "ptx/ops/operations.hpp"
#include "verifier/explore/machine.hpp"

namespace kiln::verifier::explore {

// A or B of an MMA where both of its descriptors are known.
std::optional<KnownOperand> Machine::known_operand(const Turn& t, const ops::Mma& mma, bool is_a) {
  if (mma.zero_mask || (is_a && mma.form.a_in_tmem)) return std::nullopt;
  const auto instruction = program_.facts.known.of(mma.idesc, 32).value();
  const auto word = terms_.value(read(t, is_a ? mma.a : mma.b, t.leader(), 64));
  if (!instruction || !word) return std::nullopt;
  return KnownOperand::of(mma.form, std::uint32_t(*instruction), *word, is_a);
}

EventId Machine::read_operand(Turn& t, std::uint32_t cta, const ir::Argument& descriptor,
                              const std::optional<KnownOperand>& known) {
  const EventId id = t.add_access(false, Proxy::async, true);
  Intervals& shared = t.s.ctas[cta].shared;
  if (known) {
    for (const ByteRun& run : tiles_.reads(*known)) access(t, id, shared, run.first, run.end, t.lanes);
    return id;
  }
  const auto bits = terms_.bits(read(t, descriptor, t.leader(), 64));
  if (!bits.knows(isa::descriptor_address_mask >> 4))
    throw Unfollowed{"the address in a descriptor is not known", &t.op};
  const std::uint32_t start = isa::unpack_shared(bits.one).start;
  access(t, id, shared, start, start + looked_at, t.lanes);
  return id;
}

void Machine::judge_tiles(Turn& t, std::uint32_t cta_index, const ops::Mma& mma, const std::optional<KnownOperand>& a,
                          const std::optional<KnownOperand>& b) {
  Cta& cta = t.s.ctas[cta_index];
  const auto say = [&](const std::optional<TileFinding>& found, const char* what) {
    if (found) breach({found->verdict, &t.op, found->other, found->got, {}, what, found->repair});
  };
  std::optional<tile::Beginning> a_begins, b_begins;
  if (b) say(tiles_.judge(cta.tiles, *b, b_begins), "the tile was copied here");
  if (a) say(tiles_.judge(cta.tiles, *a, a_begins), "the tile was copied here");
  const auto d = std::uint32_t(number(t, mma.d, t.leader(), 32, "an address of tensor memory"));
  // An accumulator that may begin anew is taken to do so.
  const bool adds = mma.enable_input_d && program_.facts.known.of(*mma.enable_input_d, 1).value() == 1;
  if (!adds) cta.sums.erase(d);
  if (a_begins && b_begins && !mma.lanes)
    say(TileJudge::go_on(cta.sums[d], *a_begins, *b_begins, *b, t.op), "the other MMA is here");
}

// A tensor copy has left a tile, or something unknown from an address on.
void Machine::note_tile(Turn& t, std::uint32_t cta_index, std::uint32_t address, const std::optional<Box>& box) {
  Cta& cta = t.s.ctas[cta_index];
  if (!box) {
    cta.tiles = tiles_.sets().without(cta.tiles, address, ~std::uint32_t{0});
    return;
  }
  tile::Tile tile = box->layout;
  tile.operation = &t.op;
  tile.address = address;
  cta.tiles = tiles_.sets().with(cta.tiles, tile);
  std::erase_if(cta.sums, [&](const auto& sum) { return sum.second.uses(address + 1); });
}

// Whatever else is written means nothing that is known.
void Machine::forget_tiles(State& s, const Intervals& memory, std::uint32_t first, std::uint32_t end) {
  for (Cta& cta : s.ctas)
    if (&cta.shared == &memory && cta.tiles) cta.tiles = tiles_.sets().without(cta.tiles, first, end);
}

}  // namespace kiln::verifier::explore
