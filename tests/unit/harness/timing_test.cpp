#include "harness/measure/timing.hpp"

#include <doctest/doctest.h>

#include "harness/gpu/cuda_timing.hpp"
#include "launch/operands.hpp"
#include "tests/unit/harness/buffer.hpp"
#include "tests/unit/harness/temporary.hpp"

namespace kiln::harness::timing_tests {
namespace {

using isa::ScalarType;
using launch::Contract;
using launch::Expectation;
using test::buffer;

Expectation gemm() {
  Expectation e;
  e.output = "D", e.a = "A", e.b = "B";
  return e;
}

Contract dense(std::uint64_t m, std::uint64_t n, std::uint64_t k) {
  Contract c;
  c.buffers = {buffer("A", ScalarType::bf16, {m, k}), buffer("B", ScalarType::bf16, {n, k}),
               buffer("D", ScalarType::bf16, {m, n})};
  c.expectations = {gemm()};
  return c;
}

TEST_CASE("the median is the middle time, or the mean of the two in the middle") {
  CHECK(Times{{3, 1, 2}}.median() == 2);
  CHECK(Times{{4, 1, 3, 2}}.median() == 2.5);
  CHECK(Times{{7}}.median() == 7);
  CHECK(Times{}.median() == 0);
  CHECK(Times{{3, 1, 2}}.least() == 1);
  CHECK(Times{{3, 1, 2}}.most() == 3);
}

TEST_CASE("between two uses of a copy more than twice the L2 is touched") {
  constexpr std::uint64_t l2 = 60 << 20, plenty = std::uint64_t{1} << 40;
  for (const std::uint64_t footprint :
       {1ull, 4096ull, 1ull << 20, 7ull << 20, 60ull << 20, 120ull << 20, 121ull << 20, 1ull << 30}) {
    const Rotation r = plan_rotation(footprint, l2, plenty);
    CHECK_MESSAGE((r.copies - 1) * footprint + r.filler_bytes > 2 * l2, footprint);
    CHECK(r.copies >= 2);
    CHECK(r.copies <= 16);
  }
}

TEST_CASE("copies are no more than are needed, and something else is written only where they are too few") {
  constexpr std::uint64_t mebi = 1 << 20, plenty = std::uint64_t{1} << 40;
  CHECK(plan_rotation(384 * mebi, 60 * mebi, plenty).copies == 2);
  CHECK(plan_rotation(384 * mebi, 60 * mebi, plenty).filler_bytes == 0);
  CHECK(plan_rotation(30 * mebi, 60 * mebi, plenty).copies == 6);
  CHECK(plan_rotation(30 * mebi, 60 * mebi, plenty).filler_bytes == 0);
  CHECK(plan_rotation(mebi, 60 * mebi, plenty).copies == 16);
  CHECK(plan_rotation(mebi, 60 * mebi, plenty).filler_bytes == 105 * mebi + 1);
}

TEST_CASE("where only one copy fits the memory, the L2 is overwritten in between") {
  constexpr std::uint64_t mebi = 1 << 20;
  const Rotation r = plan_rotation(384 * mebi, 60 * mebi, 400 * mebi);
  CHECK(r.copies == 1);
  CHECK(r.filler_bytes == 120 * mebi + 1);
}

TEST_CASE("a gemm has two operations for each multiply-add") {
  const Contract c = dense(128, 256, 64);
  CHECK(work_of(c)->operations == 2.0 * 128 * 256 * 64);
  CHECK(work_of(c)->bytes_moved == 0);
  CHECK(work_of(c)->counted == "2 * M * N * K");
  CHECK(work_of(c)->sizes == "M=128 N=256 K=64");
  CHECK(Work{1e12, 0, {}, {}}.tera_operations(1) == doctest::Approx(1000));
}

TEST_CASE("operands that are stored transposed count as much") {
  Contract c = dense(128, 256, 64);
  c.buffers[0].shape = {64, 128};
  c.buffers[1].shape = {64, 256};
  c.expectations[0].a_transposed = c.expectations[0].b_transposed = true;
  CHECK(work_of(c)->operations == 2.0 * 128 * 256 * 64);
}

TEST_CASE("a batch counts each of its matrices") {
  Contract c = dense(128, 256, 64);
  for (launch::Buffer& b : c.buffers) b.shape.insert(b.shape.begin(), 3), b.bytes.assign(b.size(), 0);
  CHECK(work_of(c)->operations == 3 * 2.0 * 128 * 256 * 64);
  CHECK(test::contains(work_of(c)->counted, "3 matrices"));
}

TEST_CASE("a sparse gemm counts the operations of the dense one, and says so") {
  Contract c = dense(128, 256, 128);
  c.buffers[0].shape = {128, 64};
  c.buffers.push_back(launch::metadata_buffer("M", isa::MmaKind::f16, 128, 128));
  c.expectations[0].metadata = "M";
  CHECK(work_of(c)->operations == 2.0 * 128 * 256 * 128);
  CHECK(test::contains(work_of(c)->counted, "half"));
}

TEST_CASE("groups count the rows that belong to one") {
  Contract c = dense(128, 256, 64);
  c.buffers[1].shape = {2, 256, 64};
  c.buffers.push_back(buffer("E", ScalarType::u32, {2}));
  for (launch::Buffer& b : c.buffers) b.bytes.assign(b.size(), 0);
  store_element(c.buffers[3].bytes, ScalarType::u32, 0, 40);
  store_element(c.buffers[3].bytes, ScalarType::u32, 1, 100);
  c.expectations[0].groups = "E";
  CHECK(work_of(c)->operations == 2.0 * 100 * 256 * 64);
}

TEST_CASE("a copy counts bytes read and written, and a contract that expects nothing counts nothing") {
  Contract c;
  c.buffers = {buffer("A", ScalarType::bf16, {8, 8}), buffer("D", ScalarType::bf16, {8, 8})};
  CHECK(!work_of(c));
  Expectation e;
  e.kind = Expectation::Kind::copy;
  e.output = "D", e.a = "A";
  c.expectations = {e};
  CHECK(work_of(c)->operations == 0);
  CHECK(work_of(c)->bytes_moved == 256);
  CHECK(Work{0, 1e9, {}, {}}.giga_bytes(1) == doctest::Approx(1000));
}

TEST_CASE("what a run changed and was not poison is restored before the next") {
  Contract before;
  before.buffers = {test::normal("A", ScalarType::bf16, {8, 8}),
                    test::filled("D", ScalarType::bf16, {8, 8}, {launch::Init::Kind::poison, 0, 1, 1, {}}),
                    test::filled("counter", ScalarType::u32, {1}, {launch::Init::Kind::zeros, 0, 1, 1, {}}),
                    test::filled("untouched", ScalarType::u32, {1}, {launch::Init::Kind::zeros, 0, 1, 1, {}})};
  Contract after = before;
  after.at("D").bytes[0] = 0;
  after.at("counter").bytes[0] = 7;
  CHECK(buffers_to_restore(before, after) == std::vector<std::string>{"counter"});
}

}  // namespace
}  // namespace kiln::harness::timing_tests
