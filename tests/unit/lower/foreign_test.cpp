// What kernels of other compilers have and those of the library do not: numbers of barriers in registers, shared memory
// that is full, descriptors that are added to in loops, addresses that are written in another way.
#include <fmt/format.h>

#include "harness/contract/contract_json.hpp"
#include "tests/skip.hpp"
#include "tests/unit/lower/lowered.hpp"

namespace lower_foreign {

using namespace kiln;
using namespace kiln::test;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::size_t replace_all(std::string& text, const std::string& what, const std::string& by) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()), ++found)
    text.replace(at, what.size(), by);
  return found;
}

struct Change {
  std::string what, by;
};

// A kernel with other text in some places, and more statements at its beginning.
Kernel changed(const Kernel& k, const std::string& first, const std::vector<Change>& changes = {}) {
  std::string text{k.text->text()};
  for (const Change& c : changes) REQUIRE_MESSAGE(replace_all(text, c.what, c.by) > 0, c.what);
  const std::size_t body = text.find("\n{\n");
  REQUIRE(body != std::string::npos);
  text.insert(body + 3, first);
  return parsed(text, k.contract);
}

Kernel basic() { return library_kernel("gemm_bf16_basic", {{"m", 128}, {"n", 128}, {"k", 256}}); }

// Its engine reads A from the image, which other warps have written.
Kernel chain() {
  Kernel out;
  const std::string folder = std::string(KILN_SOURCE_DIR) + "/tests/interop/";
  diag::Sink sink;
  out.text = diag::Source::read(folder + "attention_chain.ptx");
  out.module = parse::parse(out.text, sink);
  REQUIRE_FALSE(sink.has_errors());
  out.contract = harness::read_contract_file(folder + "attention_chain.json");
  harness::fill(out.contract);
  return out;
}

Kernel lowered_well(const Kernel& k, lower::Report* report = nullptr) {
  diag::Sink sink;
  if (report) {
    const auto out = lower::lower(k.module, {isa::sm_90a, lower::Place::automatic, &k.contract}, sink);
    REQUIRE_MESSAGE(out, diag::render_text(sink));
    *report = out->reports.at(0);
  }
  const auto low = lowered(k, isa::sm_90a, sink);
  REQUIRE_MESSAGE(low, diag::render_text(sink));
  return *low;
}

void check_same(const Kernel& own, const Kernel& low, std::uint64_t seeds = 1) {
  const launch::Contract before = simulated(own);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const launch::Contract after = simulated(low, seed);
    for (const launch::Buffer& b : before.buffers) CHECK(b.bytes == after.at(b.name).bytes);
  }
}

// Where the engine's warps meet: at a named barrier of 256 threads, or without.
std::string meeting(const Kernel& low) {
  const std::string_view text = low.text->text();
  std::string found;
  for (int id = 0; id < 16; ++id)
    if (text.find(fmt::format("bar.sync {}, 256;", id)) != std::string::npos) found += fmt::format("{} ", id);
  if (text.find("lw_engine_meeting") != std::string::npos) found += "mbarrier ";
  return found;
}

// All threads meet at a barrier whose number `compute` leaves in %id0.
std::string meet_at(const std::string& compute) {
  return "  .reg .b32 %id<6>;\n  .reg .pred %is_high;\n  mov.u32 %id1, %tid.x;\n" + compute + "\n";
}
const std::string of_warp = "  shr.u32 %id2, %id1, 5;\n  shfl.sync.idx.b32 %id3, %id2, 0, 31, -1;\n";

}  // namespace

TEST_CASE("numbers of barriers in registers leave the engine one of the others") {
  const Kernel k = chain();
  CHECK(meeting(lowered_well(k)) == "15 ");
  // In each warp another one, by the warp's number alone.
  const Kernel each = changed(k, meet_at(of_warp + "  sub.u32 %id0, 15, %id3;\n  bar.sync %id0, 32;"));
  CHECK(meeting(lowered_well(each)) == "9 ");
  check_same(k, lowered_well(each));
  // One of two, by something that is not known before the kernel runs, and the warp's number beside it.
  const std::string either =
      "  mov.u32 %id4, %ctaid.x;\n  and.b32 %id4, %id4, 1;\n  shl.b32 %id4, %id4, 2;\n  setp.gt.u32 %is_high, %id3, "
      "1;\n"
      "  selp.b32 %id5, 9, 8, %is_high;\n  sub.u32 %id0, %id5, %id3;\n  add.u32 %id0, %id0, %id4;\n"
      "  add.u32 %id0, %id0, 3;\n  bar.sync %id0, 32;";
  const Kernel one = changed(k, meet_at(of_warp + either));
  CHECK(meeting(lowered_well(one)) == "6 ");
}

TEST_CASE("an engine for which no named barrier is left meets at an mbarrier") {
  const Kernel k = chain();
  const std::string any = "  mov.u32 %id0, %nctaid.z;\n  add.u32 %id0, %id0, 2;\n  bar.sync %id0;";
  const Kernel unknown = changed(k, meet_at(any));
  const Kernel low = lowered_well(unknown);
  CHECK(meeting(low) == "mbarrier ");
  check_same(k, low, 4);
}

TEST_CASE("sums do not go where another warp of the engine still reads A") {
  // The second product's A lies where the first one's sums are, as in attention.
  const Kernel k = chain();
  for (std::uint64_t seed = 1; seed <= 8; ++seed) simulated(lowered_well(k), seed);
  const Kernel low = lowered_well(k);
  const std::string_view text = low.text->text();
  const std::size_t flush = text.find("\nlw_flush:\n"), store = text.find("st.", flush),
                    meet = text.find("bar.sync", flush);
  REQUIRE(flush != std::string_view::npos);
  CHECK(meet < store);
}

TEST_CASE("a kernel that leaves no room in shared memory has its queue in global memory") {
  for (const bool without_barriers : {false, true})
    for (const Kernel& k : {basic(), chain()}) {
      Kernel full = without_barriers ? changed(k, meet_at("  mov.u32 %id0, %nctaid.z;\n  bar.sync %id0;")) : k;
      const bool is_basic = k.contract.launches[0].entry == "gemm_bf16_basic";
      // Static variables come first.
      full.contract.launches[0].dynamic_smem = std::uint32_t(isa::max_shared_bytes(isa::sm_90a)) - 1024;
      CAPTURE(is_basic);
      lower::Report report;
      const Kernel low = lowered_well(full, &report);
      if (!has(std::string(k.text->text()), ".extern .shared")) continue;
      CHECK(report.home == lower::Place::global);
      CHECK(has(lower::sentence(report), "the queue is in global memory too"));
      CHECK(low.contract.launches[0].dynamic_smem == full.contract.launches[0].dynamic_smem);
      CHECK(has(std::string(low.text->text()), "lw_homes"));
      check_same(k, low, 4);
    }
}

TEST_CASE("kernels of a module share as many images as any of them needs") {
  const Kernel one = basic();
  std::string text{one.text->text()};
  std::string second = text.substr(text.find(".visible .entry"));
  REQUIRE(replace_all(second, "gemm_bf16_basic", "second_kernel") > 0);
  REQUIRE(replace_all(second, "[kiln_tmem], 128;", "[kiln_tmem], 64;") == 1);
  REQUIRE(replace_all(text, "[kiln_tmem], 128;", "[kiln_tmem], 512;") == 1);
  launch::Contract contract = one.contract;
  contract.launches.push_back(contract.launches[0]);
  contract.launches[1].entry = "second_kernel";
  contract.launches[1].grid.x = 3;
  const Kernel both = parsed(text + second, contract);
  diag::Sink sink;
  const auto low = lowered(both, isa::sm_90a, sink, lower::Place::global);
  REQUIRE_MESSAGE(low, diag::render_text(sink));
  CHECK(has(std::string(low->text->text()), "lw_memory[262144]"));
  CHECK(has(std::string(low->text->text()), "lw_taken[3]"));
}

TEST_CASE("more dynamic shared memory than a pair's engines leave is refused, with the sizes and what to do") {
  Kernel k = library_kernel("gemm_v6", {{"m", 256}, {"n", 256}, {"k", 128}, {"ctas", 2}});
  k.contract.launches[0].dynamic_smem = 232448 - 512;
  diag::Sink sink;
  CHECK_FALSE(lowered(k, isa::sm_90a, sink));
  REQUIRE_FALSE(sink.all().empty());
  CHECK(sink.all()[0].slug == "lower-shared-memory");
  CHECK(has(diag::render_text(sink), "dynamic_smem"));
}

TEST_CASE("a descriptor whose address was extended by its sign, and one that is changed in place, are as any other") {
  const Kernel k = basic();
  for (const std::vector<Change>& changes :
       {std::vector<Change>{{"cvt.u64.u32 %rd6, %r23;", "cvt.s64.s32 %rd6, %r23;"}},
        {{"or.b64 %rd7, %rd6, 0x4000404000000000;", "mov.b64 %rd7, %rd6; or.b64 %rd7, %rd7, 0x4000404000000000;"}},
        {{"shr.u32 %r22, %r12, 4;\n  and.b32 %r23, %r22, 0x3fff;\n  cvt.u64.u32 %rd6, %r23;",
          "cvt.s64.s32 %rd6, %r12; shr.u64 %rd6, %rd6, 4; and.b64 %rd6, %rd6, 0x3fff;"}}}) {
    lower::Report report;
    const Kernel low = lowered_well(changed(k, "", changes), &report);
    CHECK(report.checking == 0);
    CHECK(report.commands == 1);
    check_right(simulated(low));
  }
}

TEST_CASE("a descriptor that a loop adds to keeps its layout, or the lowered kernel traps") {
  const auto walking = [](const std::string& step, const std::string& back) {
    return changed(basic(), "  .reg .b32 %left;\n  .reg .pred %more;\n",
                   {{"or.b64 %rd7, %rd6, 0x4000404000000000;",
                     "or.b64 %rd7, %rd6, 0x4000404000000000; mov.u32 %left, %nctaid.z; add.u32 %left, %left, 7;\n"
                     "walk: add.s64 %rd7, %rd7, " +
                         step +
                         "; sub.u32 %left, %left, 1; setp.ne.u32 %more, %left, 0; @%more bra walk;\n"
                         "sub.s64 %rd7, %rd7, " +
                         back + ";"}});
  };
  lower::Report report;
  const Kernel low = lowered_well(walking("2", "16"), &report);
  CHECK(report.checking == 4);
  CHECK(has(lower::sentence(report), "4 MMAs and copies trap if"));
  check_right(simulated(low));
  // Eight times this is carried into the field above.
  const Kernel carries = lowered_well(walking("0x2000", "0"));
  diag::Sink sink;
  launch::Contract contract = carries.contract;
  CHECK(sim::simulate(carries.module, contract, {}, sink).outcome != sim::Outcome::finished);
  CHECK(has(diag::render_text(sink), "trap"));
}

TEST_CASE(
    "a descriptor to which the stage of a ring is added keeps its layout, one to which a parameter is added does not") {
  const auto with = [](const std::string& offset) {
    return changed(basic(), "  .reg .b64 %offset<2>;\n  .reg .b32 %stage<3>;\n  .reg .pred %last;\n",
                   {{"mov.u32 %r19, 0;", "mov.u32 %r19, 0; mov.u32 %stage0, 0;"},
                    {"or.b64 %rd7, %rd6, 0x4000404000000000;",
                     offset + " add.s64 %rd7, %offset0, %rd6; add.s64 %rd7, %rd7, 0x4000404000000000;"},
                    {"add.u32 %r19, %r19, 1;",
                     "add.u32 %r19, %r19, 1; add.u32 %stage1, %stage0, 1; setp.eq.u32 %last, %stage1, 3;\n"
                     "selp.b32 %stage0, 0, %stage1, %last;"}});
  };
  lower::Report report;
  const std::string there_and_back =
      "mul.lo.u32 %stage2, %stage0, 1024; cvt.u64.u32 %offset0, %stage2; sub.s64 %rd6, %rd6, %offset0;";
  const Kernel staged = lowered_well(with(there_and_back), &report);
  CHECK(report.checking == 4);
  check_right(simulated(staged));
  diag::Sink sink;
  const Kernel unknown = with("ld.param.u32 %stage2, [gemm_bf16_basic_m]; mul.wide.u32 %offset0, %stage2, 1024;");
  CHECK_FALSE(lower::lower(unknown.module, {isa::sm_90a, lower::Place::automatic, nullptr}, sink));
  CHECK(has(diag::render_text(sink), "got stride dimension offset"));
}

TEST_CASE("a descriptor of two words, the lower of which went through a shuffle, is known") {
  const Kernel k = changed(basic(), "  .reg .b32 %low<2>;\n",
                           {{"or.b64 %rd7, %rd6, 0x4000404000000000;",
                             "shfl.sync.idx.b32 %low0, %r23, 0, 31, -1; mov.b64 %rd7, {%low0, 0x40004040};"},
                            {"@!%p3 bra elected_tile;", "@!%p1 bra elected_tile;"},
                            {"mbarrier.arrive.expect_tx", "@%p2 mbarrier.arrive.expect_tx"},
                            {"  cp.async.bulk.tensor", "  @%p2 cp.async.bulk.tensor"},
                            {"  tcgen05.mma", "  @%p2 tcgen05.mma"},
                            {"  tcgen05.commit", "  @%p2 tcgen05.commit"}});
  lower::Report report;
  const Kernel low = lowered_well(k, &report);
  CHECK(report.checking == 0);
  check_right(simulated(low));
}

TEST_CASE("the 32-bit address of a commit or an allocation without a state space is one of shared memory") {
  const Kernel k = changed(basic(), "  .reg .b32 %where;\n",
                           {{"setup_barriers_end:\n", "setup_barriers_end:\n  mov.b32 %where, kiln_tmem;\n"},
                            {"mbarrier::arrive::one.shared::cluster.b64 [%r15]", "mbarrier::arrive::one.b64 [%r15]"},
                            {"sync.aligned.shared::cta.b32 [kiln_tmem]", "sync.aligned.b32 [%where]"}});
  const Kernel low = lowered_well(k);
  check_right(simulated(low));
  const harness::Ptxas ptxas = harness::find_ptxas();
  if (!ptxas.found()) return skip(ptxas.missing);
  diag::Sink sink;
  CHECK(harness::assemble(ptxas, low.text, isa::sm_90a, sink).status == harness::Assembly::Status::assembled);
}

}  // namespace lower_foreign
