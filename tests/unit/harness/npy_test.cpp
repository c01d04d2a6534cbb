#include "harness/problem/npy.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "tests/unit/harness/temporary.hpp"

namespace kiln::harness::npy_tests {
namespace {

using test::contains;
using test::error_of;

// A .npy file of format 1.0 with this header and this many bytes of data.
std::string file_of(std::string header, std::size_t data_bytes, char major = 1) {
  while ((header.size() + 11) % 64 != 0) header += ' ';
  header += '\n';
  std::string file = "\x93NUMPY";
  file += major;
  file += '\0';
  file += char(header.size());
  file += char(header.size() >> 8);
  if (major > 1) file += std::string(2, '\0');
  return file + header + std::string(data_bytes, '\x01');
}

std::string error_for(const std::string& content) {
  const TemporaryFolder folder;
  const std::string path = folder.file("x.npy");
  write_file(path, content);
  return error_of([&] { read_npy(path); });
}

launch::Buffer buffer(isa::ScalarType type, std::vector<std::uint64_t> shape) {
  launch::Buffer b;
  b.name = "A";
  b.dtype = type;
  b.shape = std::move(shape);
  return b;
}

TEST_CASE("what is written is read back") {
  const TemporaryFolder folder;
  const NpyArray array{"f4", {2, 3}, std::vector<std::uint8_t>(24, 7)};
  write_npy(folder.file("a.npy"), array);
  const NpyArray back = read_npy(folder.file("a.npy"));
  CHECK(back.dtype == "f4");
  CHECK(back.shape == array.shape);
  CHECK(back.bytes == array.bytes);
}

TEST_CASE("the header has the bytes that NumPy writes") {
  const TemporaryFolder folder;
  write_npy(folder.file("a.npy"), {"u2", {512}, std::vector<std::uint8_t>(1024)});
  const std::vector<std::uint8_t> file = read_file(folder.file("a.npy"));
  CHECK(file.size() == 128 + 1024);
  const std::string text(file.begin(), file.begin() + 128);
  CHECK(text.substr(0, 10) == std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  CHECK(text.substr(10, 58) == "{'descr': '<u2', 'fortran_order': False, 'shape': (512,), ");
  CHECK(text.back() == '\n');
}

TEST_CASE("formats 2 and 3, other quotes, scalars and Python 2 extents are read") {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.npy");
  write_file(path, file_of("{\"descr\": \"<f2\", \"fortran_order\": False, \"shape\": (2L, 2L,)}", 8, 2));
  CHECK(read_npy(path).shape == std::vector<std::uint64_t>{2, 2});
  write_file(path, file_of("{'descr': '|u1', 'fortran_order': False, 'shape': (), }", 1, 3));
  CHECK(read_npy(path).bytes.size() == 1);
}

TEST_CASE("bad files are refused by name and reason") {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  CHECK(contains(error_for("hello"), "x.npy: is not a .npy file"));
  CHECK(contains(error_for(""), "is not a .npy file"));
  CHECK(contains(error_for(file_of(good, 7)), "holds 7 bytes of data, but its header says f4 [2], which is 8"));
  CHECK(contains(error_for(file_of(good, 9)), "holds 9 bytes"));
  CHECK(contains(error_for(file_of(good, 0).substr(0, 40)), "is cut off inside its header"));
  CHECK(contains(error_for(file_of(good, 8, 9)), "is of .npy format 9.0"));
  CHECK(contains(error_for(file_of("{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", 8)), "is big-endian"));
  CHECK(contains(error_for(file_of("{'descr': '<f4', 'fortran_order': True, 'shape': (2,)}", 8)), "ascontiguousarray"));
  CHECK(contains(error_for(file_of("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", 8)), "records"));
  CHECK(contains(error_for(file_of("{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", 8)), "type 'O'"));
  CHECK(contains(error_for(file_of("{'descr': '<f4', 'shape': (2,)}", 8)), "lacks descr, fortran_order or shape"));
  CHECK(contains(error_for(file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", 8)),
                 "expected an extent"));
  CHECK(contains(error_for(file_of("{'descr': '<f8', 'fortran_order': False, 'shape': (46116860184273879040, 8)}", 8)),
                 "absurd extent"));
  CHECK(
      contains(error_for(file_of("{'descr': '<f8', 'fortran_order': False, 'shape': (1073741824, 1073741824, 64)}", 8)),
               "holds 8 bytes of data, but its header says"));
  CHECK(contains(error_of([] { read_npy("/nonexistent/a.npy"); }), "/nonexistent/a.npy: No such file"));
  CHECK(contains(error_of([] { read_npy("/"); }), "/: is a directory"));
}

TEST_CASE("types that NumPy lacks travel as unsigned words") {
  using isa::ScalarType;
  CHECK(npy_dtype(ScalarType::f16) == "f2");
  CHECK(npy_dtype(ScalarType::bf16) == "u2");
  CHECK(npy_dtype(ScalarType::tf32) == "f4");
  CHECK(npy_dtype(ScalarType::e4m3) == "u1");
  CHECK(npy_dtype(ScalarType::e2m1) == "u1");
  CHECK(npy_dtype(ScalarType::s32) == "i4");
  CHECK(npy_dtype(ScalarType::b64) == "u8");
}

TEST_CASE("a buffer takes a file of its type and shape and no other") {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.npy");
  write_npy(path, {"u2", {4, 2}, std::vector<std::uint8_t>(16, 3)});
  launch::Buffer fits = buffer(isa::ScalarType::bf16, {4, 2});
  load_npy(path, fits);
  CHECK(fits.bytes == std::vector<std::uint8_t>(16, 3));
  launch::Buffer turned = buffer(isa::ScalarType::bf16, {2, 4});
  CHECK(error_of([&] { load_npy(path, turned); }) ==
        path + ": buffer A (bf16) expects u2 [2, 4], the file has u2 [4, 2]");
  launch::Buffer half = buffer(isa::ScalarType::f16, {4, 2});
  CHECK(contains(error_of([&] { load_npy(path, half); }), "buffer A (f16) expects f2 [4, 2], the file has u2 [4, 2]"));
}

TEST_CASE("bf16 saved by ml_dtypes is taken, and fp4 counts bytes") {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.npy");
  write_npy(path, {"V2", {4}, std::vector<std::uint8_t>(8, 3)});
  launch::Buffer b = buffer(isa::ScalarType::bf16, {4});
  load_npy(path, b);
  CHECK(b.bytes.size() == 8);
  launch::Buffer fp4 = buffer(isa::ScalarType::e2m1, {2, 8});
  fp4.bytes.assign(8, 0x21);
  save_npy(path, fp4);
  CHECK(read_npy(path).shape == std::vector<std::uint64_t>{2, 4});
  load_npy(path, fp4);
  launch::Buffer fp6 = buffer(isa::ScalarType::e2m3, {2, 16});
  fp6.bytes.assign(24, 0x21);
  save_npy(path, fp6);
  CHECK(read_npy(path).shape == std::vector<std::uint64_t>{2, 12});
  load_npy(path, fp6);
  launch::Buffer ragged = buffer(isa::ScalarType::e2m1, {2, 5});  // the second row begins inside a byte
  ragged.bytes.assign(5, 0x21);
  save_npy(path, ragged);
  CHECK(read_npy(path).shape == std::vector<std::uint64_t>{5});
  load_npy(path, ragged);
}

TEST_CASE("a file is replaced as a whole or not at all") {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.npy");
  write_file(path, std::string_view("old"));
  write_file(path, std::string_view("new"));
  CHECK(read_file(path).size() == 3);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) ++files;
  CHECK(files == 1);
  CHECK(contains(error_of([&] { write_file(folder.file("no/such/a.npy"), std::string_view("x")); }),
                 "cannot be written"));
  CHECK(contains(error_of([&] { write_file(folder.path(), std::string_view("x")); }), "is a directory"));
  write_file("/dev/null", std::string_view("x"));
  CHECK(std::filesystem::is_character_file("/dev/null"));
}

TEST_CASE("a link stays a link") {
  const TemporaryFolder folder;
  write_file(folder.file("real"), std::string_view("old"));
  std::filesystem::create_symlink("real", folder.file("link"));
  write_file(folder.file("link"), std::string_view("newer"));
  CHECK(std::filesystem::is_symlink(folder.file("link")));
  CHECK(read_file(folder.file("real")).size() == 5);
}

}  // namespace
}  // namespace kiln::harness::npy_tests
