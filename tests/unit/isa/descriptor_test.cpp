// Layouts of tensor memory against points sampled from what CUTLASS computes on the host, and the vocabulary.
// Descriptors are in descriptor_text_test.cpp.
#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "ptx/isa/modifiers.hpp"
#include "ptx/isa/opcodes.hpp"
#include "ptx/isa/scales.hpp"
#include "ptx/isa/sparse.hpp"
#include "ptx/isa/targets.hpp"
#include "ptx/isa/tcgen05.hpp"
#include "ptx/isa/tmem.hpp"

using namespace kiln::isa;

namespace {

nlohmann::json golden() {
  std::ifstream in(KILN_TEST_DATA "/isa/golden_vectors.json");
  REQUIRE(in);
  return nlohmann::json::parse(in);
}

}  // namespace

TEST_CASE("registers of a tcgen05.ld come from the cells that CUTLASS says") {
  const std::map<std::string, DataShape> shapes{{"16dp64b", DataShape::s16x64b}, {"16dp128b", DataShape::s16x128b},
                                                {"16dp256b", DataShape::s16x256b}, {"32dp32b", DataShape::s32x32b}};
  int points = 0;
  const auto loads = golden()["tcgen05_ld"];
  for (const auto& [name, cells] : loads.items())
    for (const auto& [text, shape] : shapes) {
      // SM100_TMEM_LOAD_16dp64b1x; packed loads and 16dp32b (16x32bx2) have names of their own.
      if (name.find("_" + text) == std::string::npos || name.find("16b") != name.rfind("16b") ||
          name.ends_with("_16b"))
        continue;
      for (const auto& c : cells) {
        const TmemAddress at = fragment_cell(shape, c["thread"], c["reg"]);
        if (c["reg_bit"] != c["col_bit"]) continue;
        const TmemAddress sampled{c["row"], c["column"]};
        const std::string& load = name;  // clang 14 does not let a lambda see a structured binding
        CHECK_MESSAGE(at == sampled, load);
        ++points;
      }
    }
  CHECK(points > 100);
}

TEST_CASE("the accumulator of M = 128 has a lane per row, of M = 64 sixteen rows in each quarter") {
  const AccumulatorCell row77{0, 77, 5}, row17{0, 33, 3}, row130{1, 2, 3};
  CHECK(accumulator_cell(data_path(128, CtaGroup::one, false, false), 77, 5, 256) == row77);
  CHECK(accumulator_cell(data_path(64, CtaGroup::one, false, false), 17, 3, 64) == row17);
  CHECK(accumulator_cell(data_path(256, CtaGroup::two, false, false), 130, 3, 64) == row130);
}

TEST_CASE("scales take a column for 32 rows, metadata one or two, A the bytes of its rows") {
  const auto rows = [](CtaGroup g, int m, int n) {
    const ScaledExtents e = scaled_extents(g, m, n);
    return std::pair{scale_columns(e.a), scale_columns(e.b)};
  };
  CHECK(rows(CtaGroup::one, 128, 256) == std::pair{4, 8});
  CHECK(rows(CtaGroup::one, 128, 40) == std::pair{4, 2});
  CHECK(rows(CtaGroup::two, 256, 256) == std::pair{4, 8});  // each CTA has its half of A and all of B
  CHECK(rows(CtaGroup::two, 128, 128) == std::pair{2, 2});
  CHECK(metadata_columns(MmaKind::f16) == 1);
  CHECK(metadata_columns(MmaKind::mxf4) == 2);
  CHECK(a_columns(false) == 8);
  CHECK(a_columns(true) == 12);
  CHECK(fills_half_the_lanes(data_path(64, CtaGroup::one, false, false)));
  CHECK_FALSE(fills_half_the_lanes(data_path(64, CtaGroup::one, false, true)));
}

TEST_CASE("the longest opcode wins and the rest are modifiers") {
  CHECK(match_opcode("tcgen05.mma.ws.sp.cta_group::1").opcode == Opcode::tcgen05_mma_ws_sp);
  CHECK(match_opcode("tcgen05.wait::ld.sync.aligned").opcode == Opcode::tcgen05_wait_ld);
  CHECK(match_opcode("cp.async.bulk.tensor.2d").opcode == Opcode::cp_async_bulk_tensor);
  CHECK(match_opcode("add.u32").length == 3);
  CHECK(match_opcode("frobnicate.u32").opcode == Opcode::unknown);
}

TEST_CASE("modifiers decode into their fields, and unknown ones are kept") {
  const std::vector<std::string> written{"rn", "satfinite", "bf16x2", "f32", "frob", "rz"};
  const Modifiers m = decode_modifiers(written);
  CHECK(m.rounding == Rounding::rn);
  CHECK(m.satfinite);
  CHECK(m.types[0] == ScalarType::bf16x2);
  CHECK(m.types[1] == ScalarType::f32);
  CHECK(m.others == std::vector<std::string>{"frob"});
  CHECK(m.repeated == std::vector<std::string>{"rz"});
}

TEST_CASE("targets parse and print, and tcgen05 needs a suffix") {
  CHECK(parse_target("sm_100a") == sm_100a);
  CHECK(spelling(sm_103f) == "sm_103f");
  CHECK_FALSE(parse_target("sm_100x"));
  CHECK_FALSE(parse_target("compute_90"));
  CHECK(has_tcgen05(sm_110f));
  CHECK_FALSE(has_tcgen05(Target{100}));
  CHECK_FALSE(has_tcgen05(sm_120a));
}

TEST_CASE("metadata of a sparse A lies in the cells that CUTLASS says") {
  const std::map<std::string, MmaKind> kinds{{"E_f16_M128", MmaKind::f16},
                                             {"E_tf32_M128", MmaKind::tf32},
                                             {"E_8b_M128", MmaKind::f8f6f4},
                                             {"E_f4_M128", MmaKind::mxf4}};
  const auto fragments = golden().at("tmem_fragments");
  for (const auto& [name, kind] : kinds) {
    const std::string fragment = name;
    CAPTURE(fragment);
    for (const auto& p : fragments.at(name)) {
      const int k = p.at("k_or_n"), per_mma = mma_k(kind, true), chunk = metadata_chunk(kind);
      const MetadataPlace place = metadata_place(kind, k / per_mma);
      const MetadataCell cell = metadata_cell(kind, p.at("row"), k % per_mma / chunk);
      CHECK(cell.row == p.at("lane"));
      CHECK(place.column + place.selector + cell.column == p.at("column"));
      CHECK(cell.bit + k % chunk * 4 / chunk == p.at("bit"));
    }
  }
}

TEST_CASE("scales lie in the cells that CUTLASS says, each group of four after the rows of the one before") {
  const std::map<std::string, int> group_columns{
      {"SFA_1X_M128", scale_group_columns(ScaleSide::A, 128, 128, CtaGroup::one)},
      {"SFA_2X_M128", scale_group_columns(ScaleSide::A, 128, 128, CtaGroup::one)},
      {"SFA_4X_M128", scale_group_columns(ScaleSide::A, 256, 128, CtaGroup::two)},
      {"SFB_1X_N256", scale_group_columns(ScaleSide::B, 128, 256, CtaGroup::one)},
      {"SFA_4X_M128_2x2", scale_group_columns(ScaleSide::A, 128, 256, CtaGroup::two)}};
  const auto fragments = golden().at("tmem_fragments");
  for (const auto& [name, columns] : group_columns) {
    const std::string fragment = name;
    CAPTURE(fragment);
    for (const auto& p : fragments.at(name)) {
      const ScaleCell cell = scale_cell(p.at("row"), p.at("k_or_n"), columns);
      CHECK(cell.lane == p.at("lane"));
      CHECK(cell.column == p.at("column"));
      CHECK(8 * cell.byte == p.at("bit"));
    }
  }
}

TEST_CASE("metadata nibbles name two different places") {
  for (const MmaKind kind : {MmaKind::f16, MmaKind::f8f6f4, MmaKind::i8, MmaKind::mxf4}) {
    std::string legal;
    for (unsigned nibble = 0; nibble < 16; ++nibble)
      if (is_selector(kind, nibble)) legal += "0123456789ABCDEF"[nibble];
    CHECK(legal == "4689CDE");
  }
  for (unsigned nibble = 0; nibble < 16; ++nibble) CHECK(is_selector(MmaKind::tf32, nibble) == (nibble == 4 || nibble == 14));
}

TEST_CASE("K of 64 bytes is a bit of its own in each layout, and no other kind has one") {
  struct Row {
    MmaKind kind;
    std::uint32_t bit;
    int k;
  };
  for (const Row& row : {Row{MmaKind::f8f6f4, 1u << 29, 64}, Row{MmaKind::mxf8f6f4, 1u << 31, 64},
                         Row{MmaKind::mxf4, 1u << 3, 128}, Row{MmaKind::mxf4nvf4, 1u << 3, 128}}) {
    CHECK(unpack(row.bit, row.kind).wide);
    CHECK(unpack(row.bit, row.kind).reserved == 0);
    CHECK(pack(unpack(row.bit, row.kind), row.kind) == row.bit);
    CHECK_FALSE(unpack(~row.bit, row.kind).wide);
    CHECK(mma_k(row.kind, false, false, true) == row.k);
  }
  for (const MmaKind kind : {MmaKind::f16, MmaKind::tf32, MmaKind::i8}) CHECK_FALSE(unpack(~0u, kind).wide);
  CHECK(a_k_bytes(false, true) == 64);
  CHECK(b_k_bytes(false, false, true) == 64);
  CHECK(b_k_bytes(true, false, true) == 128);
}
