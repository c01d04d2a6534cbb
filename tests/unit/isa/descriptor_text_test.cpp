// Descriptors and their printed form against points sampled from what CUTLASS computes on the host. What the compiler
// can prove, it proves here.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "ptx/isa/descriptor_text.hpp"
#include "tests/golden_vectors.hpp"

using namespace kiln::isa;
using namespace kiln;

namespace {

constexpr MmaForm form_of(const golden::Instruction& g) {
  return {.kind = g.kind, .sparse = g.sparse, .block_scale = is_block_scaled(g.kind)};
}

constexpr MmaShape shape_of(const golden::Instruction& g) {
  MmaShape s{.a = g.a, .b = g.b, .m = g.m, .n = g.n, .a_major = g.a_major, .b_major = g.b_major};
  (is_block_scaled(g.kind) ? s.scale : s.d) = g.d_or_scale;
  return s;
}

constexpr bool survives(InstructionDescriptor d) {
  return pack(d.fields(), d.kind()) == d.word() && read_instruction_descriptor(printed(d), d.kind()).value == d;
}
constexpr bool survives(SharedDescriptor d) {
  return pack(d.fields()) == d.word() && read_shared_descriptor(printed(d)).value == d;
}

constexpr bool leads_to_its_byte(const golden::Element& e) {
  const SharedDescriptorFields f = unpack_shared(e.word);
  if (f.swizzle_code != descriptor_code(e.swizzle)) return false;
  const std::uint32_t byte = e.major == Major::K ? k_major_address(f, e.swizzle, e.mn, e.k * e.bits / 8)
                                                 : mn_major_address(f, e.swizzle, e.bits / 8, e.mn, e.k);
  return byte == e.byte;
}

// Compilers bound the steps of one constant expression, so many points are asked in groups.
constexpr std::size_t group = 8;
template <const auto& points, class Holds, std::size_t first>
constexpr bool group_holds = std::all_of(std::begin(points) + first,
                                         std::begin(points) + std::min(first + group, std::size(points)), Holds{});
template <const auto& points, class Holds, std::size_t... i>
constexpr bool all_hold(std::index_sequence<i...>) {
  return (group_holds<points, Holds, i * group> && ...);
}
template <const auto& points, class Holds>
constexpr bool all_hold() {
  return all_hold<points, Holds>(std::make_index_sequence<(std::size(points) + group - 1) / group>{});
}

struct PacksAsCutlass {
  constexpr bool operator()(const golden::Instruction& g) const {
    return InstructionDescriptor::of(form_of(g), shape_of(g)).word() == g.word;
  }
};
struct InstructionSurvives {
  constexpr bool operator()(const golden::Instruction& g) const {
    return survives(InstructionDescriptor::raw(g.word, g.kind));
  }
};
struct MatrixSurvives {
  constexpr bool operator()(std::uint64_t word) const { return survives(SharedDescriptor::raw(word)); }
};
struct LeadsToItsByte {
  constexpr bool operator()(const golden::Element& e) const { return leads_to_its_byte(e); }
};

static_assert(std::size(golden::instructions) == 14);
static_assert(all_hold<golden::instructions, PacksAsCutlass>(), "instruction descriptors equal CUTLASS's");
static_assert(all_hold<golden::instructions, InstructionSurvives>(),
              "packing, unpacking, printing, reading: no bit is lost");

static_assert(std::size(golden::elements) == 624 && std::size(golden::matrices) > 100);
static_assert(all_hold<golden::elements, LeadsToItsByte>(), "a matrix descriptor leads every element to its byte");
static_assert(all_hold<golden::matrices, MatrixSurvives>(), "packing, unpacking, printing, reading: no bit is lost");

constexpr InstructionDescriptor bf16_256 = InstructionDescriptor::raw(0x10418490, MmaKind::f16);
static_assert(printed(bf16_256).view() == "M=256 N=256 D=f32 A=bf16 B=bf16 A_major=MN B_major=MN");
static_assert(printed(SharedDescriptor::raw(0x4000404000010000)).view() ==
              "start=0x0 leading=16 stride=1024 swizzle=128B");

}  // namespace

TEST_CASE("a block-scaled descriptor prints its scale type where others print D") {
  CHECK(printed(InstructionDescriptor::raw(0x08A00400, MmaKind::mxf8f6f4)).view() ==
        "M=128 N=128 A=e4m3 B=e5m2 scale_format=ue8m0");
  CHECK(printed(InstructionDescriptor::raw(0xB0400480 | 2u << 4, MmaKind::mxf4nvf4)).view() ==
        "M=256 N=256 A=e2m1 B=e2m1 scale_format=ue4m3 SFA_id=1 SFB_id=2 K96");
}

TEST_CASE("codes without a name and reserved bits print as numbers, and read back") {
  const auto d = InstructionDescriptor::raw(0x28A01DF0, MmaKind::f16);
  CHECK(printed(d).view() == "M=128 N=128 D=3 A=3 B=7 reserved=0x20800040");
  CHECK(read_instruction_descriptor(printed(d), MmaKind::f16).value == d);
}

TEST_CASE("every single bit of a descriptor survives printing and reading") {
  for (MmaKind kind : {MmaKind::f16, MmaKind::i8, MmaKind::mxf8f6f4, MmaKind::mxf4})
    for (int bit = 0; bit < 32; ++bit) CHECK(survives(InstructionDescriptor::raw(1u << bit, kind)));
  for (int bit = 0; bit < 64; ++bit) CHECK(survives(SharedDescriptor::raw(std::uint64_t{1} << bit)));
  CHECK(survives(SharedDescriptor::raw(~std::uint64_t{0})));
}

TEST_CASE("words are read in any order, and what is left out is zero") {
  const auto read = read_instruction_descriptor("  B=bf16 A=bf16 D=f32   N=256 M=128", MmaKind::f16);
  REQUIRE(read.value);
  CHECK(read.value->word() == 0x08400490);
  CHECK(read_instruction_descriptor("", MmaKind::f16).value == InstructionDescriptor::raw(0, MmaKind::f16));
}

TEST_CASE("reading names the first word that is wrong") {
  const auto wrong = [](std::string_view text, MmaKind kind = MmaKind::f16) {
    const auto r = read_instruction_descriptor(text, kind);
    CHECK_FALSE(r.value);
    return r.wrong;
  };
  CHECK(wrong("M=128 Q=3") == "Q=3");
  CHECK(wrong("M=100") == "M=100");    // no multiple of 16
  CHECK(wrong("N=512") == "N=512");    // six bits hold 504 at most
  CHECK(wrong("A=e4m3") == "A=e4m3");  // no type of the kind
  CHECK(wrong("M=128 M=128") == "M=128");
  CHECK(wrong("sparse=1") == "sparse=1");  // a word of its own
  CHECK(wrong("M") == "M");
  CHECK(wrong("reserved=0x1") == "reserved=0x1");
  CHECK(wrong("D=f32", MmaKind::mxf4) == "D=f32");  // f32 always, and no field
  CHECK(wrong("K96", MmaKind::mxf8f6f4) == "K96");
  CHECK(read_shared_descriptor("start=0x10 stride=8").wrong == "stride=8");
  CHECK(read_shared_descriptor("start=99999999999999999999").wrong == "start=99999999999999999999");
}

TEST_CASE("the span of a K-major operand holds every piece, and little else") {
  for (const Swizzle s : {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128, Swizzle::b128_atom32})
    for (const std::uint32_t start : {1024u, 1056u, 7 * 1024u + 64u})
      for (const std::uint32_t stride : {256u, 1024u, 2048u})
        for (const int mn : {0, 3, 16})
          for (const int rows : {8, 24, 128}) {
            const SharedDescriptorFields d{.start = start, .leading = 4096, .stride = stride, .base_offset = 1};
            const AddressSpan span = k_major_span(d, s, mn, rows, 32);
            std::uint32_t low = ~0u, high = 0;
            for (int row = mn; row < mn + rows; ++row)
              for (int k = 0; k < 32; k += 16) {
                const std::uint32_t at = k_major_address(d, s, row, k);
                low = std::min(low, at), high = std::max(high, at + 16);
              }
            CHECK(span.first <= low);
            CHECK(span.end >= high);
            CHECK(low - span.first < 128 + 7 * std::uint32_t(span_bytes(s)));
            CHECK(span.end - high < 128 + 7 * std::uint32_t(span_bytes(s)));
          }
}
