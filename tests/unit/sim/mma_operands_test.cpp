// What a tcgen05.mma takes besides A and B, what it does to them, and what the simulator refuses to guess.
#include <doctest/doctest.h>

#include <map>
#include <tuple>

#include "tests/unit/sim/mma_problem.hpp"

namespace sim_mma_operands {

using namespace kiln;
using namespace kiln::test;
using isa::MmaKind;
using isa::ScalarType;

namespace {

float cell_value(u32 word) { return std::bit_cast<float>(word); }

MmaProblem plain(unsigned seed) {
  MmaProblem p;
  p.draw(seed);
  return p;
}

// Runs the same instruction several times, each with its own modifiers.
std::string chain(MmaProblem p, std::initializer_list<const char*> modifiers) {
  std::string text;
  for (const char* m : modifiers) {
    p.modifiers = m;
    text += p.instruction() + "\n";
  }
  return text;
}

}  // namespace

namespace {

// Bytes that asynchronous operations touch, by where and how.
struct Touched : sim::Observer {
  std::map<std::tuple<bool, u32, bool>, u64> bytes;  // tensor memory, CTA, write
  std::vector<sim::Range> cells;
  void access(const sim::Agent&, const ir::Operation&, const sim::Range& r, sim::AccessKind kind, sim::Proxy,
              sim::AsyncId id) override {
    if (!id) return;
    const bool tensor = r.space == isa::Space::reg;
    bytes[{tensor, r.cta, kind == sim::AccessKind::write}] += r.bytes * r.rows;
    if (tensor) cells.push_back(r);
  }
};

}  // namespace

TEST_CASE("masked columns of B are not read") {
  MmaProblem p;
  p.ws = true, p.m = 128, p.n = 64, p.extra = ", %rd12";
  p.draw(3);
  MmaMachine machine = p.machine();
  const u64 word = u64{1} << 39 | u64{63} << 40 | u64{1} << 32;
  Touched touched;
  machine.observer = &touched;
  const Run r = machine.run("mov.b64 %rd12, " + std::to_string(word) + ";\n" + p.instruction());
  REQUIRE_MESSAGE(r.clean(), r.findings());
  for (int n = 0; n < 64; ++n) CHECK(d_word(p, machine, 17, n) == 0);
  CHECK(touched.bytes[{false, 0, false}] == 128 * 32);  // A alone
}

TEST_CASE("scale-input-d halves the old D as often as it says") {
  for (const MmaKind kind : {MmaKind::f16, MmaKind::tf32}) {
    MmaProblem p;
    p.kind = kind;
    if (kind == MmaKind::tf32) p.a_type = p.b_type = ScalarType::tf32;
    p.accumulate = true, p.extra = ", 3";
    p.draw(5);
    MmaMachine machine = p.machine();
    for (int lane = 0; lane < 128; ++lane)
      for (int n = 0; n < 32; ++n) machine.before[0].cell(lane, n) = std::bit_cast<u32>(float(8 * (lane - n)));
    const Run r = machine.run(p.instruction());
    REQUIRE_MESSAGE(r.clean(), r.findings());
    for (int row = 0; row < 128; row += 3)
      for (int n = 0; n < 32; ++n) CHECK(cell_value(d_word(p, machine, row, n)) == float(p.value(row, n) + row - n));
  }
}

TEST_CASE("kind::i8 drops scale-input-d, other kinds may not have it") {
  MmaProblem p;
  p.kind = MmaKind::i8, p.a_type = ScalarType::s8, p.b_type = ScalarType::s8, p.d_type = ScalarType::s32;
  p.accumulate = true, p.extra = ", 3";
  p.draw(6);
  MmaMachine machine = p.machine();
  for (int lane = 0; lane < 128; ++lane) machine.before[0].cell(lane, 5) = 800;
  const Run r = machine.run(p.instruction());
  REQUIRE_MESSAGE(r.clean(), r.findings());
  CHECK(std::int32_t(d_word(p, machine, 9, 5)) == int(p.value(9, 5)) + 800);
  p.kind = MmaKind::f8f6f4, p.a_type = p.b_type = ScalarType::e4m3, p.d_type = ScalarType::f32;
  p.draw(6);
  CHECK(p.machine().run(p.instruction()).has("[tcgen05-scale-input-d]"));
}

TEST_CASE("disable-output-lane names lanes of both CTAs, not rows") {
  for (const int m : {256, 128}) {
    MmaProblem p;
    p.m = m, p.ctas = 2, p.n = 64;
    p.draw(7);
    MmaMachine machine = p.machine();
    for (TensorPicture& cta : machine.before)
      for (int lane = 0; lane < 128; ++lane) cta.cell(lane, 1) = 77;
    std::string text = p.instruction();
    const std::string idesc = std::to_string(p.idesc()) + ", ";
    text.replace(text.find(idesc), idesc.size(), idesc + "{%r40, %r41, %r40, %r40, %r40, %r40, %r42, %r40}, ");
    const Run r = machine.run("mov.b32 %r40, 0; mov.b32 %r41, 4; mov.b32 %r42, 0x80000000;\n" + text);
    REQUIRE_MESSAGE(r.clean(), r.findings());
    for (int cta = 0; cta < 2; ++cta)
      for (int lane = 0; lane < 128; ++lane) {
        const bool off = (cta == 0 && lane == 34) || (cta == 1 && lane == 95);
        const int row = m == 256 ? 128 * cta + lane : 64 * cta + lane % 64, n = m == 256 ? 1 : 1 + lane / 64 * 32;
        const u32 word = machine.after[std::size_t(cta)].cell(lane, 1);
        CHECK((off ? word == 77 : cell_value(word) == float(p.value(row, n))));
      }
  }
}

TEST_CASE(".ashift moves A up by one lane of each quarter once the instruction has used it") {
  MmaProblem p;
  p.a_in_tmem = true, p.modifiers = ".ashift";
  p.draw(8);
  MmaMachine machine = p.machine();
  const Run r = machine.run(p.instruction());
  REQUIRE_MESSAGE(r.clean(), r.findings());
  for (int lane = 0; lane < 128; ++lane) {
    CHECK(cell_value(d_word(p, machine, lane, 3)) == float(p.value(lane, 3)));
    for (int c = 0; c < 8; ++c)
      CHECK(machine.after[0].cell(lane, 64 + c) == machine.before[0].cell(lane % 32 == 31 ? lane : lane + 1, 64 + c));
  }
  p.m = 64;
  p.draw(8);
  CHECK(p.machine().run(p.instruction()).has("[tcgen05-ashift]"));
}

TEST_CASE("tcgen05.shift moves eight columns up by one lane; from other lanes than 0 its reach is open") {
  MmaMachine machine;
  for (int lane = 0; lane < 128; ++lane)
    for (int c = 0; c < 128; ++c) machine.before[0].cell(lane, c) = u32(lane * 1000 + c);
  const Run r = machine.run("add.u32 %r20, %r2, 16; tcgen05.shift.cta_group::1.down [%r20];");
  REQUIRE_MESSAGE(r.clean(), r.findings());
  for (int lane = 0; lane < 128; ++lane)
    for (int c = 0; c < 128; ++c) {
      const bool moves = c >= 16 && c < 24 && lane % 32 != 31;
      CHECK(machine.after[0].cell(lane, c) == u32((moves ? lane + 1 : lane) * 1000 + c));
    }
  const Run open = machine.run("add.u32 %r20, %r2, 0x200000; tcgen05.shift.cta_group::1.down [%r20];");
  CHECK(open.result.outcome == sim::Outcome::incomplete);
}

TEST_CASE("a collector buffer is used only after a live fill with the same operand") {
  const MmaProblem p = plain(9);
  const auto run = [&](std::initializer_list<const char*> modifiers) { return p.machine().run(chain(p, modifiers)); };
  CHECK(run({".collector::a::fill", ".collector::a::use", ".collector::a::lastuse"}).clean());
  CHECK(run({".collector::a::use"}).has("[tcgen05-collector-fill]"));
  CHECK(run({".collector::a::fill", ".collector::a::lastuse", ".collector::a::use"}).has("[tcgen05-collector-fill]"));
  CHECK(run({".collector::a::fill", "", ".collector::a::use"}).has("[tcgen05-collector-fill]"));  // "" discards
  MmaProblem other = p;
  other.a_in_tmem = true;
  CHECK(
      p.machine().run(chain(p, {".collector::a::fill"}) + chain(other, {".collector::a::use"})).has("another operand"));
  MmaProblem ws = p;
  ws.ws = true, ws.n = 64;
  ws.draw(9);
  CHECK(ws.machine().run(chain(ws, {".collector::b2::fill", ".collector::b1::fill", ".collector::b2::use"})).clean());
  CHECK(ws.machine().run(chain(ws, {".collector::b2::fill", ".collector::b1::use"})).has("[tcgen05-collector-fill]"));
}

TEST_CASE("the collector of B is a buffer of its own") {
  const MmaProblem p = plain(9);
  const auto run = [&](std::initializer_list<const char*> modifiers) { return p.machine().run(chain(p, modifiers)); };
  CHECK(
      run({".collector::b::fill", ".collector::a::fill.collector::b::use", ".collector::a::use.collector::b::lastuse"})
          .clean());
  CHECK(run({".collector::a::fill", ".collector::b::use"}).has("[tcgen05-collector-fill]"));
  CHECK(run({".collector::b::fill", ".collector::b::lastuse", ".collector::b::use"}).has("where no fill is live"));
  CHECK(run({".collector::b::fill", "", ".collector::b::use"}).has("[tcgen05-collector-fill]"));  // "" discards
}

TEST_CASE("an operand that changes while the collector holds it is an error") {
  MmaProblem p;
  p.a_in_tmem = true;
  p.draw(10);
  const std::string overwrite = "tcgen05.cp.cta_group::1.128x256b [%r21], %rd10;\n";
  const Run r = p.machine().run(chain(p, {".collector::a::fill"}) + overwrite + chain(p, {".collector::a::use"}));
  CHECK(r.has("[tcgen05-collector-fill]"));
  CHECK(r.has("have changed"));
}

TEST_CASE("a K = 96 slice continues after its line where the absolute leading dimension says") {
  // Each row is 48 bytes: 32 at the end of its line, 16 in a second tile, which B shares the layout of.
  MmaProblem p;
  p.kind = MmaKind::mxf4, p.a_type = p.b_type = ScalarType::e2m1, p.k96 = true, p.n = 32;
  p.scales = 3, p.scale_type = ScalarType::ue8m0;
  p.draw(11);
  MmaMachine machine = p.machine();
  std::vector<u8>& image = machine.before[0].shared;
  image.assign(image.size(), 0);
  const auto swizzled = [](u32 at) { return at ^ (at >> 7 & 7) << 4; };
  const auto put = [&](u32 line, u32 rest, const std::vector<u32>& words, int rows) {
    for (int row = 0; row < rows; ++row)
      for (int k = 0; k < 96; ++k) {
        const u32 at = 96 + u32(k) / 2, to = at < 128 ? line + u32(row) * 128 + at : rest + u32(row) * 128 + at - 128;
        u8& byte = image[swizzled(to)];
        byte = u8(byte | words[std::size_t(row * 96 + k)] << k % 2 * 4);
      }
  };
  put(0, 8192, p.a, 64), put(24576, 28672, p.b, 32);
  // Of A's 128 rows the others are the first 64 again: groups of eight rows lie `stride` apart, from a tile to the
  // next.
  std::string text = p.instruction();
  const auto descriptor = [](u32 start, u32 rest) {
    return std::to_string(u64{2} << 61 | u64{1} << 52 | u64{1} << 46 | u64{64} << 32 | u64(rest >> 4) << 16 |
                          start >> 4);
  };
  const auto replace = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace(
      "add.u64 %rd10, %rd2, 0x4000404000010000; add.u64 %rd11, %rd10, 1024;",
      "and.b64 %rd12, %rd2, 0x3FFF; shl.b64 %rd13, %rd12, 16; add.u64 %rd12, %rd12, %rd13;\nadd.u64 %rd10, %rd12, " +
          descriptor(96, 8192) + "; add.u64 %rd11, %rd12, " + descriptor(24576 + 96, 28672) + ";");
  const Run r = machine.run(text);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  CHECK(wrong_elements(p, machine, 64) == 0);
}

TEST_CASE("an observer is told every byte and cell that an MMA touches, in both CTAs, and no other") {
  MmaProblem p;
  p.sparse = true, p.ctas = 2, p.m = 128, p.n = 64, p.a_in_tmem = true, p.lane = 16;
  p.draw(18);
  MmaMachine machine = p.machine();
  Touched touched;
  machine.observer = &touched;
  REQUIRE(machine.run(p.instruction()).clean());
  for (const u32 cta : {0u, 1u}) {
    CHECK(touched.bytes[{false, cta, false}] == 32 * 64);                   // half of B's columns, 64 bytes along K
    CHECK(touched.bytes[{true, cta, false}] == 64 * 32 + 64 * 4);           // A and its metadata
    CHECK(touched.bytes[{true, cta, true}] == std::uint64_t{64} * 64 * 4);  // D
  }
  for (const sim::Range& r : touched.cells) CHECK(((r.address >> 16) % 32 == 16 && r.rows == 16));

  MmaProblem scaled;
  scaled.kind = MmaKind::mxf4, scaled.a_type = scaled.b_type = ScalarType::e2m1;
  scaled.scales = 2, scaled.scale_type = ScalarType::ue8m0;
  scaled.draw(19);
  machine = scaled.machine();
  Touched more;
  machine.observer = &more;
  const std::string cp = "tcgen05.cp.cta_group::1.64x128b.warpx2::02_13 [%r21], %rd10;\n";
  std::string text = scaled.instruction();
  REQUIRE(machine.run(text.insert(text.find("tcgen05.mma"), cp)).clean());
  CHECK(more.bytes[{false, 0, false}] == 64 * 16 + (128 + 32) * 32);
  CHECK(more.bytes[{true, 0, false}] == 128 * (4 + 1) * 4);  // scales of 128 rows and of 32 columns, in every quarter
  CHECK(more.bytes[{true, 0, true}] == 128 * 16 + 128 * 32 * 4);
}

TEST_CASE("tcgen05-mma-lane: an address of an MMA starts where its rows may lie") {
  const auto breaks = [](const MmaProblem& p, const std::string& text, const std::string& what) {
    const Run r = p.machine().run(text);
    CHECK_MESSAGE(r.has("got " + what + " [tcgen05-mma-lane]"), r.findings());
  };
  MmaProblem p = plain(14);
  p.lane = 16;
  breaks(p, p.instruction(), "D in lane 16");
  p.m = 64, p.lane = 8;
  p.draw(14);
  breaks(p, p.instruction(), "D in lane 8");
  MmaProblem a = plain(14);
  a.a_in_tmem = true;
  std::string text = a.instruction();
  const std::string at_a = "add.u32 %r21, %r2, " + std::to_string(MmaProblem::a_column);
  REQUIRE(text.find(at_a) != std::string::npos);
  text.replace(text.find(at_a), at_a.size(), "add.u32 %r21, %r2, " + std::to_string(MmaProblem::a_column + (16 << 16)));
  breaks(a, text, "A in lane 16");
}

TEST_CASE("a descriptor that says K of 64 bytes is incomplete on sm_107, by name, and an error elsewhere") {
  MmaProblem p;
  p.kind = isa::MmaKind::f8f6f4, p.a_type = p.b_type = isa::ScalarType::e4m3;
  p.draw(15);
  std::string text = p.instruction();
  const std::string idesc = ", " + std::to_string(p.idesc()) + ", ";
  REQUIRE(text.find(idesc) != std::string::npos);
  text.replace(text.find(idesc), idesc.size(), ", " + std::to_string(p.idesc() | 1u << 29) + ", ");
  MmaMachine m = p.machine();
  const Run elsewhere = m.run(text);
  CHECK(elsewhere.result.outcome == sim::Outcome::fault);
  CHECK_MESSAGE(elsewhere.has("K of 64 bytes is for sm_107"), elsewhere.findings());
  m.target = "sm_107a";
  const Run there = m.run(text);
  CHECK(there.result.outcome == sim::Outcome::incomplete);
  CHECK_MESSAGE(there.has("K of 64 bytes, whose sums are not published"), there.findings());
}

TEST_CASE("what the documents leave open is named") {
  const auto names = [](const MmaProblem& p, const std::string& text, const std::string& what) {
    const Run r = p.machine().run(text);
    CHECK_MESSAGE(r.result.outcome == sim::Outcome::incomplete, r.findings());
    CHECK_MESSAGE(r.has(what), r.findings());
  };
  MmaProblem p;
  p.sparse = true, p.selector = 2;
  p.draw(12);
  names(p, p.instruction(), "sparsity selector 2");
  p.selector = 0;
  std::string odd = p.instruction();
  odd.replace(odd.find("add.u32 %r22, %r2, 80;"), 22, "add.u32 %r22, %r2, 81;");
  names(p, odd, "odd column");
  MmaProblem bad = p;
  bad.nibbles[3] = 5;
  names(bad, bad.instruction(), "the metadata 0x5 of row 0");
  // B of 64 bytes along K does not fit a line of the 32-byte swizzle.
  std::string narrow = p.instruction();
  narrow.replace(narrow.find("add.u64 %rd11, %rd10, 1024;"), 27, "add.u64 %rd11, %rd2, 0xC000401000010400;");
  names(p, narrow, "run past a line");
  MmaProblem lanes = plain(13);
  lanes.lane = 32;
  names(lanes, lanes.instruction(), "an accumulator in lane 32");
  MmaProblem absolute = plain(13);
  std::string far = absolute.instruction();
  far.replace(far.find("add.u64 %rd11, %rd10, 1024;"), 27, "add.u64 %rd11, %rd10, 0x10000000000400;");
  names(absolute, far, "absolute leading dimension");
  std::string two = plain(13).instruction();
  two.replace(two.rfind(", 0;"), 4, ", %p2, %p2;");
  names(plain(13), "setp.eq.u32 %p2, %r0, 0;\n" + two, "a second predicate");
}

TEST_CASE("copies of scale factors must be written and agree") {
  MmaProblem p;
  p.kind = MmaKind::mxf8f6f4, p.a_type = p.b_type = ScalarType::e4m3, p.scales = 1, p.scale_type = ScalarType::ue8m0;
  p.draw(14);
  MmaMachine machine = p.machine();
  machine.before[0].cell(32 + 5, MmaProblem::sfa_column) ^= 1;
  CHECK(machine.run(p.instruction()).has("scale factors that differ"));
  MmaMachine bare = p.machine();
  bare.fill_tmem = false;
  CHECK(bare.run(p.instruction()).has("[memory-uninitialised]"));
}

TEST_CASE("metadata that was not written is reported") {
  MmaProblem p;
  p.sparse = true;
  p.draw(15);
  MmaMachine machine = p.machine();
  machine.fill_tmem = false;
  CHECK(machine.run(p.instruction()).has("metadata in tensor memory"));
}

TEST_CASE("sparse forms accumulate and negate") {
  MmaProblem p;
  p.sparse = true, p.accumulate = true;
  p.draw(16);
  MmaMachine machine = p.machine();
  for (int lane = 0; lane < 128; ++lane) machine.before[0].cell(lane, 7) = std::bit_cast<u32>(100.0f);
  std::string text = p.instruction();
  const std::string idesc = ", " + std::to_string(p.idesc()) + ", ";
  text.replace(text.find(idesc), idesc.size(), ", " + std::to_string(p.idesc() | 1u << 14) + ", ");
  const Run r = machine.run(text);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  for (int row = 0; row < 128; ++row) CHECK(cell_value(d_word(p, machine, row, 7)) == float(100 - p.value(row, 7)));
}

TEST_CASE("MN-major operands of the mixed kinds hold sixteen rows to a piece, packed at its front") {
  // B is N-major e2m1 without a swizzle: 16 columns of one k in 16 bytes, of which 8 count. A is K-major as ever.
  for (const bool sparse : {false, true}) {
    MmaProblem p;
    p.kind = MmaKind::f8f6f4, p.a_type = ScalarType::e4m3, p.b_type = ScalarType::e2m1, p.sparse = sparse;
    p.draw(17);
    MmaMachine machine = p.machine();
    std::vector<u8>& image = machine.before[0].shared;
    std::fill(image.begin() + 16384, image.end(), u8{0});
    // 8 k of 16 columns are 128 bytes; the next 8 k are LBO = 512 on, the next 16 columns SBO = 128.
    for (int n = 0; n < 32; ++n)
      for (int k = 0; k < p.k(); ++k) {
        const std::size_t at = std::size_t(16384 + n / 16 * 128 + k % 8 * 16 + k / 8 * 512 + n % 16 / 2);
        image[at] = u8(image[at] | p.b[std::size_t(n * p.k() + k)] << n % 2 * 4);
      }
    std::string text = p.instruction();
    text.replace(text.find("add.u64 %rd11, %rd10, 1024;"), 27, "add.u64 %rd11, %rd2, 0x0000400800200400;");
    const std::string idesc = std::to_string(p.idesc()) + ", ";
    text.replace(text.find(idesc), idesc.size(), std::to_string(p.idesc() | 1u << 16) + ", ");
    const Run r = machine.run(text);
    REQUIRE_MESSAGE(r.clean(), r.findings());
    CHECK(wrong_elements(p, machine, p.m) == 0);
  }
}

}  // namespace sim_mma_operands
