// The bf16 kernels of the library, lowered: what they compute.
#include "tests/unit/lower/lowered.hpp"

namespace lower_gemm {

using namespace kiln;
using namespace kiln::test;

namespace {

constexpr const char* kernels[] = {"gemm_bf16_basic", "gemm_bf16", "gemm_v1a", "gemm_v1b",
                                   "gemm_v2a",        "gemm_v2b",  "gemm_v3",  "gemm_v4"};
// Two tiles of the output, several rounds of the widest ring; k apart from what the tiles share.
const dsl::Sizes sizes{{"m", 256}, {"n", 256}, {"k", 768}};

}  // namespace

TEST_CASE("S3-52, S3-55: bf16 kernels lowered for sm_90a give the right result in several schedules, without a race") {
  for (const char* name : kernels) {
    CAPTURE(name);
    const Kernel kernel = library_kernel(name, sizes);
    diag::Sink sink;
    const auto low = lowered(kernel, isa::sm_90a, sink);
    INFO(diag::render_text(sink));
    REQUIRE(low);
    for (const std::uint64_t seed : {1, 2, 3}) check_right(simulated(*low, seed));
  }
}

TEST_CASE("S3-38: tensor memory is kept in shared memory where it fits, and in global memory where that is asked for") {
  const Kernel kernel = library_kernel("gemm_bf16_basic", sizes);
  for (const lower::Place place : {lower::Place::automatic, lower::Place::shared, lower::Place::global}) {
    diag::Sink sink;
    const auto low = lowered(kernel, isa::sm_90a, sink, place);
    REQUIRE(low);
    const bool in_global = low->text->text().find(".global .align 1024 .b8 lw_memory") != std::string_view::npos;
    CHECK(in_global == (place == lower::Place::global));
    check_right(simulated(*low));
  }
}

TEST_CASE("S3-22, S3-39: what does not fit the 99 KiB of sm_120a is refused, with what takes how much") {
  const Kernel kernel = library_kernel("gemm_v4", sizes);
  diag::Sink sink;
  CHECK_FALSE(lowered(kernel, isa::sm_120a, sink));
  REQUIRE(sink.all().size() == 1);
  CHECK(sink.all()[0].slug == "lower-shared-memory");
  CHECK(sink.all()[0].message.find("of 101376 bytes: 196608 dynamic, ") != std::string::npos);
  diag::Sink other;
  const auto basic = lowered(library_kernel("gemm_bf16_basic", sizes), isa::sm_120a, other);
  REQUIRE(basic);
  check_right(simulated(*basic));
}

// A GPU waits for ever in a setmaxnreg.inc that asks for more than a launch has.
TEST_CASE("the registers that setmaxnreg moves fit those that the CTA is launched with") {
  diag::Sink sink;
  const auto low = lowered(library_kernel("gemm_v3", sizes), isa::sm_90a, sink);
  REQUIRE(low);
  CHECK(low->contract.launches.at(0).block.x == 384);
  const auto asked = [&](const std::string& way) {
    const std::string head = "setmaxnreg." + way + ".sync.aligned.u32 ";
    const std::size_t at = low->text->text().find(head);
    REQUIRE(at != std::string_view::npos);
    return std::stoul(std::string(low->text->text().substr(at + head.size(), 3)));
  };
  CHECK(256 * asked("inc") + 128 * asked("dec") <= 168 * 384);
}

TEST_CASE("a role that needs more registers than the rest gets them at its beginning, and all of them fit the launch") {
  diag::Sink sink;
  const auto low = lowered(library_kernel("gemm_bf16", sizes), isa::sm_90a, sink);
  REQUIRE(low);
  const std::string_view text = low->text->text();
  const auto asked = [&](std::size_t from, const std::string& way) {
    const std::string head = "setmaxnreg." + way + ".sync.aligned.u32 ";
    const std::size_t at = text.find(head, from);
    REQUIRE(at != std::string_view::npos);
    return std::stoul(std::string(text.substr(at + head.size(), 3)));
  };
  const std::size_t role = text.find("role_store:"), engine = text.find("lw_engine:");
  REQUIRE(role != std::string_view::npos);
  const std::size_t rest = asked(0, "dec"), store = asked(role, "inc"), multiply = asked(engine, "inc");
  CHECK(store >= 64 + 12);  // the sums that it holds, and some more
  CHECK(rest < store);
  CHECK(multiply >= 176);
  CHECK(128 * (rest + store) + 256 * multiply <= 65536);
}

}  // namespace lower_gemm
