// wgmma.mma_async of every type, major and swizzle, against plain loops over matrices of small numbers; and what its
// asynchrony means for registers and shared memory.
#include "ptx/isa/wgmma.hpp"
#include "sim/core/observer.hpp"
#include "tests/unit/sim/matrix_kernel.hpp"

namespace sim_wgmma {

using namespace kiln;
using namespace kiln::test;
using isa::MatrixShape;
using isa::MmaSyncCell;
using isa::Swizzle;

namespace {

struct Case {
  std::string shape, types;
  ScalarType a, b, d;
  int container;
  Swizzle swizzle = Swizzle::b128;
  bool a_in_registers = false, a_mn = false, b_mn = false;
  int sign_a = 1, sign_b = 1;
  bool read_d = true;
  int selector = -1;  // sparse
};

constexpr int a_at = 0, b_at = 16384, shared_bytes = 65536;  // both on a swizzle's period

// How an operand lies, as the ISA draws its canonical layouts, in bytes from the tile's start.
struct Tile {
  Swizzle swizzle;
  bool mn;
  int element, rows, k;  // bytes of an element; extents

  int span() const { return isa::span_bytes(swizzle); }
  int k_bytes() const { return k * element; }
  // Offsets from one core matrix or atom to the next.
  int leading() const {
    if (swizzle == Swizzle::none) return mn ? 8 * rows * element : 128;
    return mn ? k / 8 * 8 * span() : 0;
  }
  int stride() const {
    if (swizzle == Swizzle::none) return mn ? 128 : 8 * k_bytes();
    return 8 * span();
  }
  int place(int row, int col) const {
    if (swizzle == Swizzle::none && !mn)
      return row / 8 * stride() + col * element / 16 * leading() + row % 8 * 16 + col * element % 16;
    const int per = 16 / element;
    if (swizzle == Swizzle::none)
      return row / per * stride() + col / 8 * leading() + col % 8 * 16 + row % per * element;
    const int line = mn ? row / (span() / element) * leading() + col * span() : row * span();
    const int byte = mn ? row % (span() / element) * element : col * element;
    const int lines_a_turn = 128 / span();  // the pattern moves on every 128 bytes
    const int turn = (mn ? col : row) / lines_a_turn % (span() / 16);
    return line + ((byte / 16) ^ turn) * 16 + byte % 16;
  }
};

struct Selection {
  std::vector<u32> nibbles;
  std::vector<int> columns;
};
Selection choose(int container, int k, std::mt19937& random) {
  Selection s;
  const int chunk = container == 32 ? 2 : 4;
  for (int first = 0; first < k; first += chunk) {
    const int low = int(random() % (container == 32 ? 2u : 3u)), high = low + 1 + int(random() % u32(3 - low));
    if (container == 32) {
      s.nibbles.push_back(low ? 0xE : 0x4);
      s.columns.push_back(first + low);
      continue;
    }
    s.nibbles.push_back(u32(low | high << 2));
    s.columns.insert(s.columns.end(), {first + low, first + high});
  }
  return s;
}

struct Problem {
  Case c;
  MatrixShape shape;
  int k, stored;  // elements; b1 counts words of 32
  Matrix a, b, init, expect;
  std::vector<Selection> rows;
  Tile tile_a, tile_b;

  Problem(const Case& made, std::mt19937& random)
      : c(made),
        shape(*isa::parse_matrix_shape(made.shape)),
        k(made.a == ScalarType::b1 ? shape.k / 32 : shape.k),
        stored(made.selector < 0 ? k : k / 2),
        a(random_matrix(type_a(), 64, stored, random)),
        b(random_matrix(type_b(), k, shape.n, random)),
        init(random_matrix(made.d, 64, shape.n, random)),
        expect(64, shape.n),
        tile_a{made.swizzle, made.a_mn, made.container / 8, 64, stored},
        tile_b{made.swizzle, made.b_mn, made.container / 8, shape.n, k} {
    if (made.a == ScalarType::b1)
      for (Matrix* m : {&a, &b})
        for (u32& w : m->words) w = u32(random());
    for (int row = 0; row < 64; ++row) rows.push_back(choose(made.container, k, random));
    for (int row = 0; row < 64; ++row)
      for (int column = 0; column < shape.n; ++column) expect.at(row, column) = compute(row, column);
  }
  ScalarType type_a() const { return c.a == ScalarType::b1 ? ScalarType::b32 : c.a; }
  ScalarType type_b() const { return c.b == ScalarType::b1 ? ScalarType::b32 : c.b; }
  u32 compute(int row, int column) const {
    double sum = c.read_d ? value_of(c.d, init.at(row, column)) : 0;
    for (int i = 0; i < stored; ++i) {
      const u32 x = a.at(row, i), y = b.at(c.selector < 0 ? i : rows[std::size_t(row)].columns[std::size_t(i)], column);
      sum +=
          c.a == ScalarType::b1 ? __builtin_popcount(x & y) : c.sign_a * value_of(c.a, x) * c.sign_b * value_of(c.b, y);
    }
    return word_of(c.d, sum);
  }
};

void put(std::vector<std::uint8_t>& image, int at, u32 word, int bytes) {
  std::memcpy(image.data() + at, &word, std::size_t(bytes));
}

std::uint64_t descriptor(const Tile& t, int at) {
  isa::SharedDescriptorFields f;
  f.start = u32(at);
  f.leading = u32(t.leading()), f.stride = u32(t.stride());
  return isa::pack_wgmma(f, t.swizzle);
}

// Words of each thread: [register][thread].
using Wide = std::vector<std::vector<u32>>;

Wide accumulators(const Problem& p) {
  const bool half = p.c.d == ScalarType::f16;
  Wide out(std::size_t(p.shape.n / (half ? 4 : 2)), std::vector<u32>(128));
  for (std::size_t r = 0; r < out.size(); ++r)
    for (int t = 0; t < 128; ++t)
      for (int e = 0; e < (half ? 2 : 1); ++e) {
        const MmaSyncCell at = isa::wgmma_d_cell(t % 32, half ? 2 * int(r) + e : int(r));
        out[r][std::size_t(t)] |= p.init.at(16 * (t / 32) + at.row, at.column) << 16 * e;
      }
  return out;
}

Wide a_registers(const Problem& p) {
  Wide out;
  for (int r = 0; p.c.a_in_registers && r < 4; ++r) {
    out.emplace_back(128);
    for (int t = 0; t < 128; ++t)
      for (int e = 0; e < 32 / p.c.container; ++e) {
        const MmaSyncCell at = isa::mma_sync_a_cell(t % 32, r, e, 32 / p.c.container);
        out.back()[std::size_t(t)] |= p.a.at(16 * (t / 32) + at.row, at.column) << e * p.c.container;
      }
  }
  return out;
}

std::vector<u32> metadata(const Problem& p) {
  std::vector<u32> out(128);
  for (int row = 0; row < 64; ++row)
    for (std::size_t chunk = 0; chunk < p.rows[std::size_t(row)].nibbles.size(); ++chunk) {
      const auto at = isa::metadata_bits(p.c.container, p.stored, row % 16, int(chunk), p.c.selector);
      out[std::size_t(row / 16 * 32 + at.lane)] |= p.rows[std::size_t(row)].nibbles[chunk] << at.shift;
    }
  return out;
}

std::string number(std::uint64_t v) { return std::to_string(v); }

// Loads shared memory and registers out of `in`, runs `middle`, stores %d0... to `out`.
std::string kernel_text(const std::string& middle, int words, int results) {
  std::string text =
      ".version 8.8\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 tile[];\n"
      ".visible .entry k(.param .u64 in, .param .u64 out) {\n.reg .b32 %r<300>; .reg .b32 %d<200>; .reg .f32 %f<200>; "
      ".reg .b64 %rd<16>; .reg .pred %p; .reg .b32 %t, %w, %a;\n.reg .pred %copy;\n"
      "ld.param.u64 %rd0, [in]; ld.param.u64 %rd1, [out]; mov.u32 %t, %tid.x; mul.wide.u32 %rd2, %t, 4;\n"
      "add.u64 %rd0, %rd0, %rd2; add.u64 %rd1, %rd1, %rd2; mov.u32 %a, tile; mad.lo.u32 %a, %t, 4, %a; mov.u32 %d0, "
      "0;\n"
      "L: ld.global.b32 %w, [%rd0]; st.shared.b32 [%a], %w; add.u64 %rd0, %rd0, 512; add.u32 %a, %a, 512; add.u32 %d0, "
      "%d0, 1; setp.lt.u32 %copy, %d0, " +
      std::to_string(shared_bytes / 512) +
      "; @%copy bra L;\n"
      "fence.proxy.async.shared::cta; bar.sync 0;\n"
      "mov.u32 %w, tile; shr.u32 %w, %w, 4; and.b32 %w, %w, 0x3FFF; cvt.u64.u32 %rd3, %w;\n";
  for (int r = 0; r < words; ++r)
    text += "ld.global.b32 %r" + std::to_string(r) + ", [%rd0+" + std::to_string(512 * r) + "];\n";
  text += middle;
  for (int r = 0; r < results; ++r)
    text += "st.global.b32 [%rd1+" + std::to_string(512 * r) + "], %d" + std::to_string(r) + ";\n";
  return text + "ret;\n}\n";
}

Run run_group(const std::string& text, const std::vector<std::uint8_t>& image, const Wide& registers, int results,
              u32 threads = 128, sim::Options options = {}) {
  if (ptxas().found()) {
    const Answer said = ask_ptxas(text, isa::sm_90a);
    CHECK_MESSAGE(said.taken, text << "\n" << said.error);
  }
  std::vector<u32> flat(image.size() / 4);
  std::memcpy(flat.data(), image.data(), image.size());
  for (const auto& r : registers) flat.insert(flat.end(), r.begin(), r.end());
  launch::Contract c;
  c.buffers.push_back(filled("in", flat));
  c.buffers.push_back(buffer("out", std::size_t(results) * 512));
  launch::Launch l;
  l.block = {threads, 1, 1};
  l.dynamic_smem = shared_bytes;
  l.params = {pointer("in"), pointer("out")};
  c.launches.push_back(l);
  return run(text, c, options);
}

void check(const Case& c, unsigned seed) {
  std::mt19937 random(seed);
  const Problem p(c, random);
  std::vector<std::uint8_t> image(shared_bytes);
  for (int row = 0; row < 64; ++row)
    for (int k = 0; k < p.stored; ++k) put(image, a_at + p.tile_a.place(row, k), p.a.at(row, k), p.tile_a.element);
  for (int row = 0; row < p.shape.n; ++row)
    for (int k = 0; k < p.k; ++k) put(image, b_at + p.tile_b.place(row, k), p.b.at(k, row), p.tile_b.element);
  Wide in = accumulators(p);
  const int nd = int(in.size());
  for (auto& r : a_registers(p)) in.push_back(std::move(r));
  const bool single = c.d == ScalarType::f32, sparse = c.selector >= 0;
  std::string body;
  for (int r = 0; r < nd; ++r)
    body += (single ? "mov.b32 %f" : "mov.b32 %d") + std::to_string(r) + ", %r" + std::to_string(r) + ";\n";
  body += "add.u64 %rd4, %rd3, " + number(descriptor(p.tile_a, a_at)) + "; add.u64 %rd5, %rd3, " +
          number(descriptor(p.tile_b, b_at)) + ";\nwgmma.fence.sync.aligned;\nwgmma.mma_async" +
          std::string(sparse ? ".sp" : "") + ".sync.aligned." + c.shape + "." + c.types + " " +
          names(single ? "%f" : "%d", 0, nd) + ", " + (c.a_in_registers ? names("%r", nd, 4) : "%rd4") + ", %rd5";
  if (sparse) {
    body += ", %r" + std::to_string(in.size()) + ", " + std::to_string(c.selector);
    in.push_back(metadata(p));
  }
  body += std::string(", ") + (c.read_d ? "1" : "0");
  if (c.d != ScalarType::s32) body += ", " + std::to_string(c.sign_a) + ", " + std::to_string(c.sign_b);
  if (c.container == 16 && !c.a_in_registers) body += c.a_mn ? ", 1" : ", 0";
  if (c.container == 16) body += c.b_mn ? ", 1" : ", 0";
  body += ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
  for (int r = 0; single && r < nd; ++r) body += "mov.b32 %d" + std::to_string(r) + ", %f" + std::to_string(r) + ";\n";
  const Run done = run_group(kernel_text(body, int(in.size()), nd), image, in, nd);
  CHECK_MESSAGE(done.clean(), c.shape << "." << c.types << "\n" << done.findings());
  const auto out = done.read<u32>("out");
  const bool half = c.d == ScalarType::f16;
  int wrong = 0;
  for (int r = 0; r < nd; ++r)
    for (int t = 0; t < 128; ++t)
      for (int e = 0; e < (half ? 2 : 1); ++e) {
        const MmaSyncCell at = isa::wgmma_d_cell(t % 32, half ? 2 * r + e : r);
        const u32 word = out[std::size_t(128 * r + t)];
        wrong += (half ? word >> 16 * e & 0xFFFF : word) != p.expect.at(16 * (t / 32) + at.row, at.column);
      }
  CHECK_MESSAGE(wrong == 0, c.shape << "." << c.types << " " << isa::spelling(c.swizzle));
}

void check_all(const std::vector<Case>& cases) {
  unsigned seed = 1;
  for (const Case& c : cases) check(c, ++seed);
}

using S = ScalarType;

}  // namespace

TEST_CASE("wgmma multiplies every type out of shared memory, in every swizzle") {
  check_all({{"m64n8k16", "f32.f16.f16", S::f16, S::f16, S::f32, 16},
             {"m64n64k16", "f32.bf16.bf16", S::bf16, S::bf16, S::f32, 16, Swizzle::b64},
             {"m64n256k16", "f32.bf16.bf16", S::bf16, S::bf16, S::f32, 16, Swizzle::b32},
             {"m64n32k16", "f16.f16.f16", S::f16, S::f16, S::f16, 16, Swizzle::none},
             {"m64n40k8", "f32.tf32.tf32", S::tf32, S::tf32, S::f32, 32, Swizzle::none},
             {"m64n128k8", "f32.tf32.tf32", S::tf32, S::tf32, S::f32, 32, Swizzle::b128},
             {"m64n24k32", "f32.e4m3.e5m2", S::e4m3, S::e5m2, S::f32, 8, Swizzle::b32},
             {"m64n16k32", "f16.e5m2.e5m2", S::e5m2, S::e5m2, S::f16, 8, Swizzle::b64},
             {"m64n48k32", "s32.s8.u8", S::s8, S::u8, S::s32, 8, Swizzle::b64},
             {"m64n96k32", "satfinite.s32.u8.u8", S::u8, S::u8, S::s32, 8, Swizzle::none},
             {"m64n16k256", "s32.b1.b1.and.popc", S::b1, S::b1, S::s32, 32, Swizzle::b128}});
}

TEST_CASE("wgmma takes A out of registers, changes signs and need not read D") {
  check_all(
      {{"m64n16k16", "f32.f16.f16", S::f16, S::f16, S::f32, 16, Swizzle::b128, true},
       {"m64n8k8", "f32.tf32.tf32", S::tf32, S::tf32, S::f32, 32, Swizzle::b64, true, false, false, -1, 1},
       {"m64n8k32", "f32.e4m3.e4m3", S::e4m3, S::e4m3, S::f32, 8, Swizzle::b32, true, false, false, -1, -1, false},
       {"m64n32k32", "s32.s8.s8", S::s8, S::s8, S::s32, 8, Swizzle::b32, true, false, false, 1, 1, false},
       {"m64n8k16", "f16.f16.f16", S::f16, S::f16, S::f16, 16, Swizzle::b32, false, false, false, 1, -1, false}});
}

TEST_CASE("wgmma transposes A and B of 16-bit types") {
  check_all({{"m64n64k16", "f32.f16.f16", S::f16, S::f16, S::f32, 16, Swizzle::b128, false, true, true},
             {"m64n128k16", "f32.bf16.bf16", S::bf16, S::bf16, S::f32, 16, Swizzle::b128, false, false, true},
             {"m64n64k16", "f32.bf16.bf16", S::bf16, S::bf16, S::f32, 16, Swizzle::b64, false, true, true},
             {"m64n32k16", "f16.f16.f16", S::f16, S::f16, S::f16, 16, Swizzle::b32, false, true, true},
             {"m64n24k16", "f32.f16.f16", S::f16, S::f16, S::f32, 16, Swizzle::none, false, true, true},
             {"m64n64k16", "f32.f16.f16", S::f16, S::f16, S::f32, 16, Swizzle::b128, true, false, true}});
}

TEST_CASE("wgmma.sp multiplies what the metadata selects") {
  const auto sparse = [](std::string shape, std::string types, S a, S b, S d, int container, Swizzle s, bool registers,
                         int selector) {
    return Case{std::move(shape), std::move(types), a, b, d, container, s, registers, false, false, 1, 1, true,
                selector};
  };
  check_all({sparse("m64n8k32", "f32.f16.f16", S::f16, S::f16, S::f32, 16, Swizzle::b128, false, 1),
             sparse("m64n16k32", "f16.f16.f16", S::f16, S::f16, S::f16, 16, Swizzle::none, true, 0),
             sparse("m64n24k16", "f32.tf32.tf32", S::tf32, S::tf32, S::f32, 32, Swizzle::b64, false, 1),
             sparse("m64n8k64", "f32.e4m3.e5m2", S::e4m3, S::e5m2, S::f32, 8, Swizzle::b128, true, 0),
             sparse("m64n32k64", "s32.s8.s8", S::s8, S::s8, S::s32, 8, Swizzle::b64, false, 0)});
}

namespace {

const std::string fence = "wgmma.fence.sync.aligned;\n", commit = "wgmma.commit_group.sync.aligned;\n";
std::string wait(int keep) { return "wgmma.wait_group.sync.aligned " + std::to_string(keep) + ";\n"; }
// D += A * B of ones: every element grows by 16.
const std::string multiply =
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd4, %rd4, %p, 1, 1, 0, 0;\n";

// Runs `body` with the descriptor of a tile of ones in %rd4 and scale-d in %p; %d0 is stored.
Run run_ones(const std::string& body, u32 threads = 128, std::uint64_t seed = 1) {
  std::vector<std::uint8_t> image(shared_bytes);
  for (int i = 0; i < 8192; i += 2) put(image, i, 0x3F80, 2);
  const Tile tile{Swizzle::b128, false, 2, 64, 16};
  const std::string text =
      kernel_text("add.u64 %rd4, %rd3, " + number(descriptor(tile, 0)) +
                      ";\nsetp.eq.u32 %p, 0, 0;\nmov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 "
                      "%f2, %f0; mov.f32 %f3, %f0;\n" +
                      body,
                  0, 1);
  return run_group(text, image, {}, 1, threads, {.seed = seed});
}

u32 f32(float v) { return std::bit_cast<u32>(v); }

}  // namespace

TEST_CASE("operations that accumulate into the same registers execute in order") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Run done =
        run_ones(fence + multiply + multiply + commit + multiply + commit + wait(0) + "mov.b32 %d0, %f0;\n", 128, seed);
    CHECK_MESSAGE(done.clean(), done.findings());
    for (const u32 word : done.read<u32>("out")) CHECK(word == f32(48));
  }
}

TEST_CASE("wgmma.wait_group waits for all but the latest groups, and not for what was never committed") {
  const Run done = run_ones(fence + multiply + commit + commit + wait(1) + "mov.b32 %d0, %f0;\n");
  CHECK_MESSAGE(done.clean(), done.findings());
  CHECK(done.read<u32>("out")[5] == f32(16));
  CHECK(run_ones(fence + multiply + wait(0) + "mov.b32 %d0, %f0;\n").has("wgmma-registers"));
}

TEST_CASE("registers that a wgmma holds may not be touched: wgmma-registers, and the value is right") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Run read = run_ones(fence + multiply + commit + "mov.b32 %d0, %f3;\n" + wait(0), 128, seed);
    CHECK(read.has("wgmma-registers"));
    CHECK_FALSE(read.sink.has_errors());
    for (const u32 word : read.read<u32>("out")) CHECK(word == f32(16));
    const Run doubled =
        run_ones(fence + multiply + commit + "add.f32 %f0, %f0, %f0;\n" + wait(0) + "mov.b32 %d0, %f0;\n", 128, seed);
    CHECK(doubled.has("wgmma-registers"));
    for (const u32 word : doubled.read<u32>("out")) CHECK(word == f32(32));
  }
  CHECK(run_ones(fence + multiply + commit + wait(1) + "mov.b32 %d0, %f0;\n" + wait(0)).has("wgmma-registers"));
  CHECK(run_ones(fence + multiply + commit + "mov.f32 %f1, 0f00000000;\n" + wait(0)).has("wgmma-registers"));
  CHECK(run_ones(fence + multiply + commit + "mov.f32 %f9, %f8;\n" + wait(0)).clean());
}

TEST_CASE("registers of A belong to a wgmma too until its group was waited for") {
  const std::string ones = "mov.b32 %r0, 0x3F803F80; mov.b32 %r1, %r0; mov.b32 %r2, %r0; mov.b32 %r3, %r0;\n";
  const std::string from_registers =
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, %rd4, %p, 1, 1, "
      "0;\n";
  const std::string change = "mov.b32 %r2, 0;\n", result = "mov.b32 %d0, %f0;\n";
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Run late = run_ones(ones + fence + from_registers + commit + wait(0) + change + result, 128, seed);
    CHECK_MESSAGE(late.clean(), late.findings());
    const Run early = run_ones(ones + fence + from_registers + commit + change + wait(0) + result, 128, seed);
    CHECK(early.has("wgmma-registers"));
    for (const Run* run : {&late, &early})
      for (const u32 word : run->read<u32>("out")) CHECK(word == f32(16));
  }
}

TEST_CASE("a warp fences its registers before its first wgmma: wgmma-fence") {
  CHECK(run_ones(multiply + commit + wait(0)).has("wgmma-fence"));
}

TEST_CASE("a warpgroup has four warps: wgmma-warpgroup") {
  const Run done = run_ones(fence + multiply + commit + wait(0), 96);
  CHECK(done.result.outcome == sim::Outcome::fault);
  CHECK(done.has("wgmma-warpgroup"));
}

TEST_CASE("shared memory that is overwritten before the wait shows in some schedule") {
  const std::string overwrite = "mov.u32 %a, tile; st.shared.b32 [%a], 0x40004000;\n";
  int changed = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Run done = run_ones(fence + multiply + commit + overwrite + wait(0) + "mov.b32 %d0, %f0;\n", 128, seed);
    changed += done.read<u32>("out")[0] != f32(16);
  }
  CHECK(changed > 0);
}

}  // namespace sim_wgmma
