#include "harness/contract/contract_json.hpp"

#include <doctest/doctest.h>

#include "harness/entry/entry.hpp"
#include "harness/entry/parameters.hpp"
#include "ptx/parse/parse.hpp"
#include "tests/unit/harness/temporary.hpp"

namespace kiln::harness::contract_json_tests {
namespace {

using launch::Contract;
using test::contains;
using test::error_of;

// The example of docs/launch-contract.md, and more.
constexpr const char* full = R"({ "entry": "gemm", "grid": [4, 2, 1], "block": [192, 1, 1], "cluster": [1, 1, 1],
  "dynamic_smem": 229376,
  "buffers": { "A": {"dtype": "bf16", "shape": [512, 512], "init": {"normal": 1.0, "seed": 1}},
               "B": {"dtype": "bf16", "shape": [512, 512], "init": {"npy": "b.npy"}},
               "D": {"dtype": "bf16", "shape": [512, 512], "init": "poison", "out": "d.npy"} },
  "tensor_maps": { "A_map": {"buffer": "A", "dtype": "bf16", "dims": [512, 512], "strides": [1024], "box": [64, 128],
                             "element_strides": [1, 1], "swizzle": "128B", "interleave": "none", "oob": "zero",
                             "offset": 0},
                   "B_map": {"buffer": "B", "dims": [512, 512], "strides": [1024], "box": [64, 256], "swizzle": "128B"},
                   "D_map": {"buffer": "D", "box": [64, 128], "oob": "nan"} },
  "params": [ {"tensor_map": "A_map"}, {"tensor_map": "B_map"}, {"tensor_map": "D_map"}, {"u32": 8} ],
  "expect": {"D": {"gemm": {"a": "A", "b": "B"}, "rtol": 1e-2}} })";

Contract read(const std::string& json) { return read_contract(json, "l.json"); }
std::string error_for(const std::string& json) {
  return error_of([&] { read(json); });
}

// A contract with one buffer and these parameters.
std::string with_params(const std::string& params) {
  return R"({"block": [1], "buffers": {"A": {"dtype": "u8", "shape": [64]}}, "params": )" + params + "}";
}
std::string with_buffer(const std::string& buffer) { return R"({"block": [1], "buffers": {"A": )" + buffer + "}}"; }
std::string with_map(const std::string& map) {
  return R"({"block": [1], "buffers": {"A": {"dtype": "bf16", "shape": [64, 64]}}, "tensor_maps": {"M": )" + map + "}}";
}

TEST_CASE("the example of the documentation is read in full") {
  const Contract c = read(full);
  REQUIRE(c.launches.size() == 1);
  CHECK(c.launches[0].entry == "gemm");
  CHECK(c.launches[0].grid == launch::Dim3{4, 2, 1});
  CHECK(c.launches[0].dynamic_smem == 229376);
  REQUIRE(c.buffers.size() == 3);
  CHECK(c.buffers[0].init.kind == launch::Init::Kind::normal);
  CHECK(c.buffers[1].init.text == "b.npy");
  CHECK(c.buffers[2].out == "d.npy");
  CHECK(c.tensor_maps.at("A_map").swizzle == isa::Swizzle::b128);
  CHECK(c.tensor_maps.at("B_map").dtype == isa::ScalarType::bf16);
  CHECK(c.tensor_maps.at("D_map").dims[1] == 512);
  CHECK(c.tensor_maps.at("D_map").strides[1] == 1024);
  CHECK(c.tensor_maps.at("D_map").oob == launch::OutOfBounds::nan);
  CHECK(c.launches[0].params.size() == 4);
  REQUIRE(c.expectations.size() == 1);
  CHECK(c.expectations[0].rtol == 1e-2);
}

TEST_CASE("a contract written is a contract read") {
  const std::string once = write_contract(read(full));
  CHECK(write_contract(read(once)) == once);
  const std::string params = write_contract(
      read(with_params(R"([{"f32": 0.1}, {"s8": -3}, {"u64": 18446744073709551615}, {"s64": -9223372036854775808},
           {"hex": "00ff"}, {"buffer": "A", "offset": 16},
           {"struct": [{"at": 0, "u8": 1}, {"at": 8, "buffer": "A"}], "size": 24}])")));
  CHECK(write_contract(read(params)) == params);
  CHECK(contains(params, "{\"s64\": -9223372036854775808}"));
}

TEST_CASE("values larger than integers of a double are written as they are") {
  const std::string large = R"({"dtype": "f32", "shape": [3], "init": {"values": [1.2676506002282294e+30, -3, 0.5]}})";
  const Contract c = read(write_contract(read(with_buffer(large))));
  CHECK(c.buffers[0].init.values == std::vector<double>{0x1p100, -3, 0.5});
}

TEST_CASE("several launches share buffers") {
  const Contract c = read(R"({"launches": [{"entry": "first", "block": [32]}, {"entry": "second", "block": [64]}]})");
  CHECK(c.launches.size() == 2);
  const std::string once = write_contract(c);
  CHECK(write_contract(read(once)) == once);
  CHECK(error_for(R"({"grid": [1], "launches": [{"block": [32]}]})") ==
        "l.json: /grid: stands in each of \"launches\" when there are several");
}

TEST_CASE("bad JSON is located by line and column") {
  CHECK(contains(error_for("{\n  \"grid\": [1,\n}"), "l.json:3:1: "));
  CHECK(error_for("").starts_with("l.json:1:1: "));
  CHECK(contains(error_for("[1]"), "l.json: /: must be an object; got [1]"));
  CHECK(contains(error_for(R"({"block": [1], "block": [2]})"), "the key \"block\" is there twice"));
  CHECK(contains(error_for(std::string(200, '[')), "nested deeper than 64"));
  CHECK(!contains(error_for("{\"a\": \"\x01\"}"), "\n"));
}

TEST_CASE("every complaint is located by JSON pointer") {
  CHECK(error_for(R"({"blok": [1]})").starts_with("l.json: /blok: unknown key; known are entry, grid"));
  CHECK(error_for("{}") == "l.json: /: \"block\" is missing");
  CHECK(error_for(R"({"block": [0]})") == "l.json: /block/0: must be a whole number from 1 to 1024; got 0");
  CHECK(error_for(R"({"block": [1, 1, 1, 1]})") == "l.json: /block: must have 1 to 3 elements; got 4");
  CHECK(error_for(R"({"block": [64, 32]})") == "l.json: /block: a CTA has at most 1024 threads; got 2048");
  CHECK(error_for(R"({"block": [1.5]})") == "l.json: /block/0: must be a whole number from 1 to 1024; got 1.5");
  CHECK(error_for(R"({"block": [1], "grid": [3], "cluster": [2]})") ==
        "l.json: /cluster: each extent of the grid must be a multiple of the cluster's");
  CHECK(
      error_for(R"({"block": [1], "dynamic_smem": -1})").starts_with("l.json: /dynamic_smem: must be a whole number"));
  CHECK(error_for(R"({"block": [1], "entry": 5})") == "l.json: /entry: must be a string; got 5");
}

TEST_CASE("buffers") {
  CHECK(error_for(with_buffer(R"({"shape": [1]})")) == "l.json: /buffers/A: \"dtype\" is missing");
  CHECK(contains(error_for(with_buffer(R"({"dtype": "bf17", "shape": [1]})")), "/buffers/A/dtype: must be a PTX type"));
  CHECK(
      contains(error_for(with_buffer(R"({"dtype": "bf16x2", "shape": [1]})")), "/buffers/A/dtype: must be a PTX type"));
  CHECK(contains(error_for(with_buffer(R"({"dtype": "e2m1", "shape": [3]})")), "must fill whole bytes; got 12 bits"));
  CHECK(contains(error_for(with_buffer(R"({"dtype": "u8", "shape": [4294967296, 4294967296]})")), "/buffers/A/shape"));
  CHECK(
      contains(error_for(with_buffer(R"({"dtype": "u8", "shape": [1], "init": "ones"})")), "/buffers/A/init: must be"));
  CHECK(contains(error_for(with_buffer(R"({"dtype": "u8", "shape": [1], "init": {"seed": 1}})")), "must have one of"));
  CHECK(contains(error_for(with_buffer(R"({"dtype": "u8", "shape": [1], "init": {"npy": "a", "hex": "00"}})")),
                 "must have one of"));
  CHECK(contains(error_for(with_buffer(R"({"dtype": "u8", "shape": [1], "init": {"values": [1], "seed": 2}})")),
                 "/buffers/A/init/seed: npy, hex and values take no seed"));
  CHECK(contains(error_for(with_buffer(R"({"dtype": "u8", "shape": [1], "init": {"values": ["one"]}})")),
                 "/buffers/A/init/values/0: must be a number"));
  CHECK(contains(error_for(with_buffer(R"({"dtype": "u64", "shape": [1], "init": {"values": [9007199254740993]}})")),
                 "/buffers/A/init/values/0: must be an integer"));
  CHECK(contains(error_for(with_buffer(R"({"dtype": "u8", "shape": [1], "init": {"uniform": [2, 1]}})")),
                 "/buffers/A/init/uniform: the lower bound exceeds the upper"));
  CHECK(contains(error_for(with_buffer(R"({"dtype": "u8", "shape": [1], "init": {"integers": [0.5, 1]}})")),
                 "/buffers/A/init/integers/0: must be an integer"));
  CHECK(contains(error_for(R"({"block": [1], "buffers": {"a/b~c": {"shape": [1]}}})"), "/buffers/a~1b~0c: "));
}

TEST_CASE("tensor maps") {
  CHECK(error_for(with_map(R"({"buffer": "X", "box": [8, 8]})")) ==
        "l.json: /tensor_maps/M/buffer: there is no buffer \"X\"");
  CHECK(error_for(with_map(R"({"buffer": "A", "box": [8]})")) ==
        "l.json: /tensor_maps/M/box: must have 2 elements; got 1");
  CHECK(error_for(with_map(R"({"buffer": "A", "box": [8, -8]})"))
            .starts_with("l.json: /tensor_maps/M/box/1: must be a whole number"));
  CHECK(error_for(with_map(R"({"buffer": "A", "box": [8, 8], "swizzle": "256B"})"))
            .starts_with("l.json: /tensor_maps/M/swizzle: must be none, 32B"));
  CHECK(error_for(with_map(R"({"buffer": "A", "box": [8, 8], "strides": []})")) ==
        "l.json: /tensor_maps/M/strides: must have 1 elements; got 0");
  CHECK(error_for(with_map(R"({"buffer": "A", "box": [8, 8], "element_strides": [1, 9]})"))
            .starts_with("l.json: /tensor_maps/M/element_strides/1: must be a whole number from 1 to 8"));
}

TEST_CASE("a tensor map in im2col mode says its corners, channels and pixels in place of a box") {
  const std::string im2col = R"({"lower": [-1], "upper": [2], "channels": 8, "pixels": 5})";
  const std::string map = R"({"buffer": "A", "dims": [8, 8, 8], "im2col": )";
  const launch::Contract c = read_contract(with_map(map + im2col + "}"), "l.json");
  const launch::Im2col& read = c.tensor_maps.at("M").im2col.value();
  CHECK(read.lower[0] == -1);
  CHECK(read.upper[0] == 2);
  CHECK(read.channels == 8);
  CHECK(read.pixels == 5);
  CHECK(contains(write_contract(c), R"("lower": [-1])"));
  CHECK(contains(write_contract(read_contract(write_contract(c), "again")), R"("pixels": 5)"));
  CHECK(error_for(with_map(R"({"buffer": "A", "im2col": )" + im2col + "}")) ==
        "l.json: /tensor_maps/M/im2col: has at least 3 extents; got 2");
}

TEST_CASE("a tensor map may walk along rows, with one corner each") {
  const std::string map = R"({"buffer": "A", "dims": [8, 8, 4, 4], "swizzle": "64B", "im2col": )";
  const std::string rows = R"({"lower": [-1], "upper": [2], "channels": 8, "pixels": 5, "walk": "w"}})";
  const std::string fixed = R"({"lower": [0], "upper": [0], "channels": 8, "walk": "w128"}})";
  const launch::Contract c = read_contract(with_map(map + rows), "l.json");
  CHECK(c.tensor_maps.at("M").im2col->walk == isa::Im2colWalk::row);
  CHECK(c.tensor_maps.at("M").box_bytes() == 8 * 5 * 2);
  CHECK(contains(write_contract(read_contract(write_contract(c), "again")), R"("walk": "w")"));
  const launch::Contract f = read_contract(with_map(map + fixed), "l.json");
  CHECK(f.tensor_maps.at("M").box_bytes() == 8 * 128 * 2);
  CHECK(contains(write_contract(read_contract(write_contract(f), "again")), R"("walk": "w128")"));
  CHECK(error_for(with_map(map + R"({"lower": [0], "upper": [0], "channels": 8, "walk": "h"}})")) ==
        "l.json: /tensor_maps/M/im2col/walk: must be window, w or w128; got \"h\"");
}

TEST_CASE("a multimem object is several buffers of one size under one name") {
  const std::string buffers = R"("buffers": {"A": {"dtype": "u32", "shape": [4]}, "B": {"dtype": "u8", "shape": [16]},
    "C": {"dtype": "u8", "shape": [8]}}, )";
  const auto with = [&](const std::string& multimem) {
    return "{" + buffers + R"("multimem": )" + multimem +
           R"(, "block": [1], "params": [{"buffer": "M", "offset": 4}]})";
  };
  const launch::Contract c = read_contract(with(R"({"M": ["A", "B"]})"), "l.json");
  CHECK(c.multimems.at("M") == std::vector<std::string>{"A", "B"});
  CHECK(std::get<launch::PointerParam>(c.launches[0].params[0].value).buffer == "M");
  CHECK(read_contract(write_contract(c), "again").multimems == c.multimems);
  CHECK(error_for(with(R"({"M": ["A", "C"]})")) == "l.json: /multimem/M/1: C has 8 bytes, A has 16");
  CHECK(error_for(with(R"({"M": ["A", "D"]})")) == "l.json: /multimem/M/1: there is no buffer \"D\"");
  CHECK(error_for(with(R"({"A": ["A", "B"]})")) == "l.json: /multimem/A: there is a buffer \"A\" already");
}

TEST_CASE("a programmatic dependent launch says what the grid before it touches") {
  const std::string buffers = R"("buffers": {"A": {"dtype": "u8", "shape": [4]}, "B": {"dtype": "u8", "shape": [4]}})";
  const launch::Contract c =
      read_contract("{" + buffers + R"(, "block": [1], "pdl": {"writes": ["A"], "reads": ["B", "A"]}})", "l.json");
  const launch::Contract again = read_contract(write_contract(c), "again");
  for (const launch::Contract* read : {&c, &again}) {
    REQUIRE(read->launches[0].pdl);
    CHECK(read->launches[0].pdl->writes == std::vector<std::string>{"A"});
    CHECK(read->launches[0].pdl->reads == std::vector<std::string>{"B", "A"});
  }
  const launch::Contract two =
      read_contract(R"({"launches": [{"block": [1]}, {"block": [1], "pdl": true}]})", "l.json");
  CHECK(!two.launches[0].pdl);
  CHECK(two.launches[1].pdl);
  CHECK(contains(error_for(R"({"block": [1], "pdl": true})"), "/pdl: there is no launch before this one"));
  CHECK(contains(error_for(R"({"block": [1], "pdl": false})"), "/pdl: is true, or says"));
  CHECK(contains(error_for("{" + buffers + R"(, "block": [1], "pdl": {"writes": ["C"]}})"),
                 "/pdl/writes/0: there is no buffer \"C\""));
}

TEST_CASE("features of later versions are refused by name") {
  CHECK(contains(error_for(with_map(R"({"buffer": "A", "box": [8, 8], "place": "A"})")), "placed in a buffer are not"));
  CHECK(contains(error_for(with_map(R"({"buffer": "A", "box": [8, 8], "interleave": "16B"})")),
                 "interleaved layouts are not"));
  CHECK(error_for(R"({"block": [1], "symbols": {}})") == "l.json: /symbols: \"symbols\" is not supported yet");
  CHECK(contains(error_for(R"({"launches": [{"block": [1], "preferred_cluster": [2]}]})"),
                 "/launches/0/preferred_cluster"));
}

TEST_CASE("parameters") {
  CHECK(error_for(with_params("[{}]")) == "l.json: /params/0: names no value; got {}");
  CHECK(contains(error_for(with_params(R"([{"u33": 1}])")), "/params/0/u33: unknown kind of parameter"));
  CHECK(contains(error_for(with_params(R"([{"u8": 1, "u16": 2}])")), "one thing; got both u8 and u16"));
  CHECK(error_for(with_params(R"([{"u8": 256}])")) ==
        "l.json: /params/0/u8: must be a whole number from 0 to 255; got 256");
  CHECK(error_for(with_params(R"([{"s8": -129}])")) ==
        "l.json: /params/0/s8: must be an integer from -128 to 127; got -129");
  CHECK(contains(error_for(with_params(R"([{"f16": 1e6}])")), "/params/0/f16: is beyond the range of f16"));
  CHECK(contains(error_for(with_params(R"([{"tensor_map": "M"}])")), "there is no tensor map \"M\""));
  CHECK(contains(error_for(with_params(R"([{"buffer": "A", "offset": 65}])")), "/params/0/offset: "));
  CHECK(contains(error_for(with_params(R"([{"u8": 1, "offset": 1}])")), "a u8 parameter takes no \"offset\""));
  CHECK(contains(error_for(with_params(R"([{"hex": "0g"}])")), "has \"0g\", which is no pair"));
  CHECK(contains(error_for(with_params(R"([{"hex": "012"}])")), "must be pairs of hex digits"));
  CHECK(error_for(with_params(R"([{"struct": [{"at": 4, "u64": 1}], "size": 8}])")) ==
        "l.json: /params/0/struct/0: 8 bytes at 4 do not fit a struct of 8");
  CHECK(contains(error_for(with_params(R"([{"struct": [], "size": 32765}])")), "/params/0/size: "));
}

TEST_CASE("expectations") {
  const auto with = [](const std::string& e) {
    return R"({"block": [1], "buffers": {"A": {"dtype": "u8", "shape": [4, 8]}, "B": {"dtype": "u8", "shape": [6, 8]},
             "D": {"dtype": "f32", "shape": [4, 6]}}, "expect": {"D": )" +
           e + "}}";
  };
  CHECK(read(with(R"({"gemm": {"a": "A", "b": "B"}})")).expectations[0].rtol == 0);
  CHECK(contains(error_for(with(R"({"gemm": {"a": "B", "b": "A"}})")), "/expect/D/gemm: D must be 6 x 4; it is 4 x 6"));
  CHECK(contains(error_for(with(R"({"gemm": {"a": "A", "b": "X"}})")), "/expect/D/gemm/b: there is no buffer \"X\""));
  CHECK(contains(error_for(with(R"({"copy": "A"})")), "/expect/D/copy: D cannot be a copy of A: 96 bytes against 32"));
  CHECK(contains(error_for(with("{}")), "/expect/D: must have one of gemm, copy"));
  CHECK(contains(error_for(with(R"({"gemm": {"a": "A", "b": "B"}, "rtol": 0})")), "/expect/D/rtol: must be above 0"));
}

TEST_CASE("an epilogue is read, written back as it was, and refused where it cannot be") {
  const auto with = [](const std::string& gemm) {
    return R"({"block": [1], "buffers": {"A": {"dtype": "bf16", "shape": [4, 8]}, "B": {"dtype": "bf16", "shape": [6, 8]},
             "C": {"dtype": "f32", "shape": [4, 6]}, "F": {"dtype": "f32", "shape": [1]},
             "V": {"dtype": "f32", "shape": [6]}, "D": {"dtype": "f32", "shape": [4, 6]}},
             "expect": {"D": {"gemm": {"a": "A", "b": "B", )" +
           gemm + "}}}}";
  };
  const Contract c = read(with(R"("c": "C", "beta": "F", "bias": "V", "activation": "gelu_tanh")"));
  for (const launch::Expectation& e : {c.expectations[0], read(write_contract(c)).expectations[0]}) {
    CHECK(e.c == "C");
    CHECK(e.beta == "F");
    CHECK(e.bias == "V");
    CHECK(e.activation == launch::Activation::gelu_tanh);
  }
  CHECK(contains(error_for(with(R"("activation": "gelu")")),
                 "/expect/D/gemm/activation: must be relu, gelu_tanh or silu; got \"gelu\""));
  CHECK(contains(error_for(with(R"("bias": "C")")), "/expect/D/gemm: buffer C: a bias is 6 floats, one a column"));
  CHECK(contains(error_for(with(R"("beta": "F")")), "/expect/D/gemm: beta multiplies C, and there is none"));
  CHECK(contains(error_for(with(R"("c": "X")")), "/expect/D/gemm/c: there is no buffer \"X\""));
}

TEST_CASE("a struct parameter is laid out field by field") {
  const Contract c =
      read(with_params(R"([{"struct": [{"at": 1, "u8": 7}, {"at": 8, "buffer": "A", "offset": 4}], "size": 17}])"));
  const ParameterContext context{[](const std::string&) { return std::uint64_t{0x1000}; }, {}};
  const std::vector<std::uint8_t> want{0, 7, 0, 0, 0, 0, 0, 0, 4, 0x10, 0, 0, 0, 0, 0, 0, 0};
  CHECK(parameter_image(c.launches[0].params[0], context) == want);
}

ir::Module module_of(const std::string& text) {
  diag::Sink sink;
  ir::Module m = parse::parse(std::make_shared<const diag::Source>("k.ptx", text), sink);
  REQUIRE(!sink.has_errors());
  return m;
}

TEST_CASE("a launch must fit the module") {
  const ir::Module m = module_of(
      ".version 8.6\n.target sm_100a\n.address_size 64\n"
      ".visible .entry copy_small(.param .u64 p) .reqntid 32, 1, 1 { ret; }\n"
      ".visible .entry copy_large(.param .u64 p) { ret; }\n");
  const auto misfit = [&](const std::string& json) {
    const Contract c = read(json);
    return error_of([&] { check_fits(m, c); });
  };
  CHECK(misfit(R"({"entry": "small", "block": [32], "params": [{"u64": 1}]})") == "no error");
  CHECK(misfit(R"({"entry": "small", "block": [64], "params": [{"u64": 1}]})") ==
        "/block: copy_small is launched with [64, 1, 1] threads; its PTX requires [32, 1, 1]");
  CHECK(misfit(R"({"entry": "copy", "block": [32]})") ==
        "/entry: several entries' names contain \"copy\": copy_small, copy_large");
  CHECK(misfit(R"({"entry": "gemm", "block": [32]})") ==
        "/entry: no entry's name contains \"gemm\"; there are copy_small, copy_large");
  CHECK(misfit(R"({"block": [32]})") == "/entry: the module has several entries, name one: copy_small, copy_large");
  CHECK(misfit(R"({"entry": "large", "block": [32]})") == "/params: copy_large takes 1 parameters; got 0");
  CHECK(misfit(R"({"entry": "large", "block": [32], "params": [{"u32": 1}]})") == "/params/0: p has 8 bytes; got 4");
}

TEST_CASE("4-bit elements may be padded to 16 bytes, other elements have no choice") {
  const std::string head = R"({"block": [1], "buffers": {"A": {"dtype": ")";
  const std::string tail =
      R"(", "shape": [4, 128]}}, "tensor_maps": {"M": {"buffer": "A", "box": [128, 1], "align": ")";
  const std::string end = R"("}}})";
  const Contract c = read(head + "e2m1" + tail + "16B" + end);
  CHECK(c.tensor_maps.at("M").padded);
  CHECK(c.tensor_maps.at("M").shared_row_bytes() == 128);
  CHECK(c.tensor_maps.at("M").box_bytes() == 64);
  CHECK(contains(error_for(head + "e2m1" + tail + "8B" + end), "/tensor_maps/M/align: must be 16B"));
  CHECK(contains(error_for(head + "bf16" + tail + "16B" + end), "only 4-bit elements have a choice; got bf16"));
}

}  // namespace
}  // namespace kiln::harness::contract_json_tests
