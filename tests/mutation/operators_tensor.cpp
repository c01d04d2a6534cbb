// The tcgen05 family: order, allocation, addresses, descriptors.
#include <fmt/format.h>

#include "tests/mutation/operators.hpp"

namespace kiln::mutation {
namespace {

using isa::Opcode;
using Kind = ir::Operand::Kind;

constexpr Bug portability(int number) { return {number, Profile::portability}; }

struct Flip {
  std::uint64_t bits;
  const char* rewrite;
  int bug_class;
};

// Fields of the instruction descriptor (PTX ISA "Instruction Descriptor") and of the matrix descriptor. All of them
// differ from the right value; which bits is a matter of taste.
constexpr Flip idesc_flips[] = {
    {1u << 17, "idesc-n", 44},      {1u << 18, "idesc-n", 44},      {1u << 24, "idesc-m", 44},
    {1u << 26, "idesc-m", 44},      {1u << 2, "idesc-sparse", 44},  {1u << 7, "idesc-type", 44},
    {1u << 13, "idesc-negate", 50}, {1u << 14, "idesc-negate", 50}, {1u << 15, "idesc-major", 50},
    {1u << 16, "idesc-major", 50},
};
constexpr Flip sdesc_flips[] = {
    {1ull << 19, "sdesc-lbo", 46},     {1ull << 35, "sdesc-sbo", 46},     {1ull << 38, "sdesc-sbo", 46},
    {3ull << 61, "sdesc-swizzle", 47}, {2ull << 61, "sdesc-swizzle", 47}, {1ull << 49, "sdesc-base", 47},
    {1ull << 14, "sdesc-wrap", 48},    {1ull << 1, "sdesc-advance", 48},
};

// What a phase expects is about one stage; in the descriptor's units of 16 bytes. Where nothing is expected, 4 KiB.
std::string stage_units(const Sites& sites) {
  for (const Site& s : sites.all())
    if (has(*s.instruction, "expect_tx") && s.instruction->operands.back().is_integer())
      return std::to_string(s.instruction->operands.back().value / 16);
  return "256";
}

void flip(Editor& e, const Site& s, const ir::Operand& o, int width, const Flip& f) {
  e.change(s, o, width, "xor.b", fmt::format("{:#x}", f.bits), f.rewrite, {f.bug_class});
}

void mutate_mma(Editor& e, const Sites& sites, const Site& s) {
  const ir::Instruction& i = *s.instruction;
  if (i.operands.size() < 4) return;
  e.change(s, i.operands[0], 32, "add.u", "32", "columns", {43});
  e.change(s, i.operands[0], 32, "add.u", "512", "columns-beyond", {45});
  for (const std::size_t operand : {1, 2}) {
    const bool is_tensor = i.operands[operand].kind == Kind::address;
    if (is_tensor) {
      e.change(s, i.operands[operand], 32, "add.u", "32", "columns", {43});
      continue;
    }
    for (const Flip& f : sdesc_flips) flip(e, s, i.operands[operand], 64, f);
    e.change(s, i.operands[operand], 64, "add.u", stage_units(sites), "other-stage", {9});
  }
  for (const Flip& f : idesc_flips) flip(e, s, i.operands[3], 32, f);
  for (std::size_t k = 4; k < i.operands.size(); ++k)
    if (i.operands[k].kind == Kind::address) e.change(s, i.operands[k], 32, "add.u", "4", "scale-columns", {49});
  const bool is_scaled = has(i, "block_scale");
  const std::size_t enable = is_scaled ? 6 : i.operands.size() > 4 && i.operands[4].kind == Kind::vector ? 5 : 4;
  if (i.operands.size() <= enable) return;
  const diag::Place at = i.operands[enable].at;
  const std::string enabled = sites.text(at), text = sites.text({i.at.begin, at.begin}),
                    rest = sites.text({at.end, i.at.end});
  for (const char* to : {"eq", "ne"})
    if (enabled != (to[0] == 'e' ? "1" : "0"))
      e.replace(s, i.at, fmt::format("{{ .reg .pred %mut; setp.{}.u32 %mut, 0, 0; {}%mut{} }}", to, text, rest),
                to[0] == 'e' ? "accumulate-always" : "accumulate-never", {34});
}

void mutate_commit(Editor& e, const Sites& sites, const Site& s) {
  const ir::Instruction& i = *s.instruction;
  e.drop(s, "drop-commit", {26});
  e.twice(s, "twice", {2});
  e.change(s, i.operands[0], 0, "add.u", "8", "other-barrier", {9});
  const Site* mma = sites.before(s, [](const Site& x) { return x.effect == Effect::mma; });
  if (mma) e.move(s, *mma, false, "commit-early", {26});
  if (!has(i, "multicast::cluster") || i.operands.size() < 2) return;
  for (const char* to : {"1", "2", "5"})
    e.replace(
        s, i.at,
        fmt::format("{{ .reg .b16 %mask; mov.u16 %mask, {}; {}%mask{} }}", to,
                    sites.text({i.at.begin, i.operands[1].at.begin}), sites.text({i.operands[1].at.end, i.at.end})),
        "commit-mask", {35});
}

Bug wait_ld_bug(const Sites& sites, const Site& s) {
  // A load is known to be over once all of its registers were used; then only the letter of PTX is broken.
  return sites.data_before(s) == Effect::tmem_load ? portability(29) : Bug{29};
}

bool is_fence(const Site& s) {
  return s.instruction->opcode == Opcode::tcgen05_fence_before || s.instruction->opcode == Opcode::tcgen05_fence_after;
}

void mutate_wait(Editor& e, const Sites& sites, const Site& s, const char* dropped, Bug bug) {
  e.drop(s, dropped, bug);
  const auto weighs = [](const Site& x) { return x.effect != Effect::none && !is_fence(x); };
  if (const Site* last = sites.before(s, weighs)) e.move(s, *last, false, "wait-early", bug);
  if (const Site* next = sites.after(s, weighs)) e.move(s, *next, true, "wait-late", bug);
  e.one_lane(s, "one-lane", {53});
}

// A fence orders asynchronous operations only: those before a ::before_thread_sync, those after an
// ::after_thread_sync.
void mutate_tensor_fence(Editor& e, const Sites& sites, const Site& s) {
  const bool after = s.instruction->opcode == Opcode::tcgen05_fence_after;
  const Effect ordered = after ? sites.data_behind(s) : sites.data_before(s);
  if (ordered == Effect::mma || ordered == Effect::tmem_load || ordered == Effect::tmem_store)
    e.drop(s, "drop-tensor-fence", portability(30));
}

void mutate_order(Editor& e, const Sites& sites, const Site& s) {
  const Opcode o = s.instruction->opcode;
  if (o == Opcode::tcgen05_wait_ld) mutate_wait(e, sites, s, "drop-wait-ld", wait_ld_bug(sites, s));
  if (o == Opcode::tcgen05_wait_st) mutate_wait(e, sites, s, "drop-wait-st", {28});
  if (is_fence(s)) mutate_tensor_fence(e, sites, s);
}

void mutate_allocation(Editor& e, const Sites& sites, const Site& s) {
  const ir::Instruction& i = *s.instruction;
  if (i.opcode == Opcode::tcgen05_alloc) {
    e.drop(s, "drop-alloc", {37});
    e.change(s, i.operands[1], 32, "shr.u", "1", "half", {37});
    e.change(s, i.operands[1], 32, "add.u", "16", "not-a-power", {37});
    e.twice(s, "twice", {39});
    e.one_lane(s, "one-lane", {53});
  }
  if (i.opcode == Opcode::tcgen05_dealloc) {
    e.drop(s, "drop-dealloc", {39});
    e.twice(s, "twice", {39});
    e.change(s, i.operands[1], 32, "shr.u", "1", "half", {39});
    e.change(s, i.operands[0], 32, "add.u", "32", "columns", {39});
    e.one_lane(s, "one-lane", {53});
  }
  if (i.opcode == Opcode::tcgen05_relinquish_alloc_permit) {
    e.drop(s, "drop-relinquish", {40});
    const Site* alloc = sites.before(s, [](const Site& x) { return x.effect == Effect::alloc; });
    if (alloc) e.move(s, *alloc, false, "relinquish-early", {40});
  }
}

}  // namespace

void mutate_tensor(Editor& e, const Sites& sites, const Site& s) {
  const ir::Instruction& i = *s.instruction;
  if (i.opcode == Opcode::tcgen05_mma) mutate_mma(e, sites, s);
  if (i.opcode == Opcode::tcgen05_commit) mutate_commit(e, sites, s);
  if (i.opcode == Opcode::tcgen05_cp) {
    e.drop(s, "drop-cp", {49});
    e.change(s, i.operands[0], 32, "add.u", "4", "scale-columns", {49});
    e.change(s, i.operands[1], 64, "add.u", stage_units(sites), "other-stage", {9});
  }
  if (i.opcode == Opcode::tcgen05_ld || i.opcode == Opcode::tcgen05_st) {
    const ir::Operand& at = i.operands[i.opcode == Opcode::tcgen05_ld ? 1 : 0];
    e.change(s, at, 32, "xor.b", "0x200000", "lanes", portability(42));
    e.change(s, at, 32, "add.u", "512", "columns-beyond", {45});
    e.one_lane(s, "one-lane", {53});
  }
  mutate_order(e, sites, s);
  mutate_allocation(e, sites, s);
}

}  // namespace kiln::mutation
