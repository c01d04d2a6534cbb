// The kind word in both printed layouts.
#include <doctest/doctest.h>

#include "ptx/isa/kind_word.hpp"

using namespace kiln::isa;

namespace {

constexpr MmaForm f16{.kind = MmaKind::f16};
constexpr MmaForm f16_pair{.kind = MmaKind::f16, .group = CtaGroup::two};

}  // namespace

TEST_CASE("S2-58, S2-60..S2-62: the words of the compiler's own checks") {
  CHECK(encode_kind_word(f16) == 0x0C0);
  CHECK(encode_kind_word(f16_pair) == 0x0C2);
  CHECK(encode_kind_word({.kind = MmaKind::f16, .ws = true}) == 0x0C1);
  CHECK(encode_kind_word({.kind = MmaKind::f16, .sparse = true}) == 0x0E0);
  CHECK(encode_kind_word({.kind = MmaKind::f16, .scale_input_d = true}) == 0x0D0);
  CHECK(encode_kind_word({.kind = MmaKind::mxf4, .block_scale = true, .scale_vector = ScaleVector::x2}) == 0x1C8);
}

TEST_CASE("S2-63..S2-69: kind codes: mxf4nvf4 0, f8f6f4 1, mxf8f6f4 2, f16 3, i8 4, tf32 5, mxf4 7") {
  const auto code = [](MmaKind k) { return *encode_kind_word({.kind = k}) >> 6; };
  CHECK(code(MmaKind::mxf4nvf4) == 0);
  CHECK(code(MmaKind::f8f6f4) == 1);
  CHECK(code(MmaKind::mxf8f6f4) == 2);
  CHECK(code(MmaKind::f16) == 3);
  CHECK(code(MmaKind::i8) == 4);
  CHECK(code(MmaKind::tf32) == 5);
  CHECK(code(MmaKind::mxf4) == 7);
  CHECK_FALSE(decode_kind_word(6 << 6));  // no kind has 6
}

TEST_CASE("every form that a layout can write is what it decodes to") {
  for (const KindWordLayout* layout : {&consistent_kind_word, &published_kind_word}) {
    int words = 0;
    for (MmaKind kind : mma_kinds)
      for (CtaGroup group : {CtaGroup::one, CtaGroup::two})
        for (ScaleVector v : kind_word_scale_vectors)
          for (int bits = 0; bits < 8; ++bits) {
            MmaForm f{.kind = kind, .group = group, .sparse = (bits & 1) != 0, .ws = (bits & 2) != 0,
                      .block_scale = is_block_scaled(kind), .scale_vector = v, .scale_input_d = (bits & 4) != 0};
            if (!f.block_scale) f.scale_vector = ScaleVector::none;
            const auto word = encode_kind_word(f, *layout);
            if (!word) continue;
            ++words;
            CHECK(*word < 1u << layout->bits);
            CHECK(decode_kind_word(*word, f.block_scale, *layout) == f);
          }
    CHECK(words > 50);
  }
}

TEST_CASE("S2-57, S2-96: the published layout has neither .ws nor .sp, and no word for a scaled form without a size") {
  CHECK_FALSE(encode_kind_word({.kind = MmaKind::f16, .ws = true}, published_kind_word));
  CHECK_FALSE(encode_kind_word({.kind = MmaKind::f16, .sparse = true}, published_kind_word));
  CHECK_FALSE(encode_kind_word({.kind = MmaKind::mxf4, .block_scale = true}, published_kind_word));
  CHECK(encode_kind_word(f16, published_kind_word) == 0x0C1);
  CHECK(encode_kind_word(f16_pair, published_kind_word) == 0x0C3);
}

TEST_CASE("S2-58: read in the consistent layout, the published word of every two-CTA MMA is weight stationary") {
  for (MmaKind kind : mma_kinds) {
    MmaForm f{.kind = kind, .group = CtaGroup::two, .block_scale = is_block_scaled(kind)};
    if (f.block_scale) f.scale_vector = ScaleVector::x2;
    const auto word = encode_kind_word(f, published_kind_word);
    REQUIRE(word);
    CHECK((*word & 3) == 3);
  }
}

TEST_CASE("bits that a layout does not define have no meaning") {
  CHECK_FALSE(decode_kind_word(1u << 11));
  CHECK_FALSE(decode_kind_word(1u << 9));  // an alias code
  CHECK_FALSE(decode_kind_word(1u << 9, false, published_kind_word));
  CHECK_FALSE(decode_kind_word(0x0C0, false, published_kind_word));  // cta_group code 0
}

TEST_CASE("S2-73, S2-75: the collector word has four uses and ashift") {
  MmaForm f = f16;
  CHECK(encode_collector_word(f) == 0);
  f.collector = Collector::a_lastuse;
  CHECK(encode_collector_word(f) == 1);
  f.collector = Collector::a_fill;
  CHECK(encode_collector_word(f) == 2);
  f.collector = Collector::a_use;
  CHECK(encode_collector_word(f) == 3);
  f.ashift = true;
  CHECK(encode_collector_word(f) == 7);
  for (std::uint32_t word = 0; word < 8; ++word)
    CHECK(encode_collector_word(*with_collector_word(f16, word)) == word);
  CHECK_FALSE(with_collector_word(f16, 8));
}

TEST_CASE("the differences name the fields that differ") {
  CHECK(kind_word_differences.size() == 7);
  for (const KindWordDifference& d : kind_word_differences) {
    CHECK(d.consistent != d.published);
    CHECK(!d.evidence.empty());
  }
}
