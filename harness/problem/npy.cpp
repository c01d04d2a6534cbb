#include "harness/problem/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include "harness/host/files.hpp"
#include "ptx/diag/refuse.hpp"

namespace kiln::harness {
namespace {

using isa::ScalarType;

constexpr std::string_view magic{"\x93NUMPY", 6};
constexpr std::size_t header_alignment = 64;

[[noreturn]] void fail(const std::string& path, std::string_view why) { diag::refuse("{}: {}", path, why); }

// The header is a Python dictionary literal with three keys. This reads that and nothing else of Python.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& path) : rest_(text), path_(path) {}

  NpyArray read() {
    NpyArray array;
    bool has_descr = false, has_order = false, has_shape = false;
    expect('{');
    while (!take('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr")
        array.dtype = dtype(), has_descr = true;
      else if (key == "fortran_order")
        order(), has_order = true;
      else if (key == "shape")
        array.shape = shape(), has_shape = true;
      else
        fail(path_, fmt::format("unknown key '{}' in the .npy header", key));
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    if (!has_descr || !has_order || !has_shape) fail(path_, "the .npy header lacks descr, fortran_order or shape");
    return array;
  }

 private:
  void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }

  bool take(char c) {
    skip_space();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    if (!take(c)) fail(path_, fmt::format("the .npy header is damaged: expected '{}'", c));
  }

  bool take_word(std::string_view word) {
    skip_space();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  std::string quoted() {
    skip_space();
    const char quote = rest_.empty() ? '\0' : rest_.front();
    const std::size_t end = quote == '\'' || quote == '"' ? rest_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos) fail(path_, "the .npy header is damaged: expected a quoted string");
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }

  std::string dtype() {
    skip_space();
    if (rest_.starts_with("[")) fail(path_, "holds records (a structured dtype); save a plain array");
    std::string text = quoted();
    if (text.starts_with('>')) fail(path_, fmt::format("is big-endian ('{}'); save it little-endian", text));
    if (text.starts_with('<') || text.starts_with('|') || text.starts_with('=')) text.erase(0, 1);
    return text;
  }

  void order() {
    if (take_word("False")) return;
    if (take_word("True")) fail(path_, "is in Fortran order; save numpy.ascontiguousarray(x)");
    fail(path_, "the .npy header is damaged: fortran_order is neither True nor False");
  }

  std::vector<std::uint64_t> shape() {
    std::vector<std::uint64_t> extents;
    expect('(');
    while (!take(')')) {
      extents.push_back(integer());
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return extents;
  }

  std::uint64_t integer() {
    skip_space();
    std::uint64_t value = 0;
    std::size_t digits = 0;
    while (digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9') {
      if (value > std::numeric_limits<std::uint64_t>::max() / 16) fail(path_, "the .npy header has an absurd extent");
      value = value * 10 + std::uint64_t(rest_[digits++] - '0');
    }
    if (digits == 0) fail(path_, "the .npy header is damaged: expected an extent");
    rest_.remove_prefix(digits);
    take('L');  // Python 2 wrote 512L
    return value;
  }

  std::string_view rest_;
  const std::string& path_;
};

// Bytes of one element of a NumPy code; 0 for codes that Kiln has no use for (objects, text, dates).
std::uint64_t element_bytes(std::string_view dtype) {
  if (dtype == "bfloat16") return 2;
  if (dtype == "?") return 1;
  if (dtype.size() < 2 || std::string_view("fiubcV").find(dtype[0]) == std::string_view::npos) return 0;
  std::uint64_t n = 0;
  for (char c : dtype.substr(1)) {
    if (c < '0' || c > '9' || n > 1000) return 0;
    n = n * 10 + std::uint64_t(c - '0');
  }
  return n;
}

std::optional<std::uint64_t> byte_count(const NpyArray& array) {
  std::uint64_t n = element_bytes(array.dtype);
  for (std::uint64_t extent : array.shape)
    if (__builtin_mul_overflow(n, extent, &n)) return std::nullopt;
  return n;
}

// What may stand for a code: ml_dtypes saves its types as void, and some writers put the name there.
bool same_dtype(std::string_view file, std::string_view wanted, ScalarType type) {
  if (file == wanted) return true;
  if (type == ScalarType::bf16) return file == "V2" || file == "bfloat16";
  if (isa::is_floating(type) && wanted == "u1") return file == "V1" || file == "f1";
  return type_class(type) == isa::TypeClass::untyped && file.substr(1) == wanted.substr(1);
}

std::string describe(std::string_view dtype, const std::vector<std::uint64_t>& shape) {
  return fmt::format("{} [{}]", dtype, fmt::join(shape, ", "));
}

// Extents as the file has them: the last one counts bytes when elements are smaller than that, and is the only one when
// rows end inside a byte.
std::vector<std::uint64_t> stored_shape(const launch::Buffer& buffer) {
  std::vector<std::uint64_t> shape = buffer.shape;
  const auto bits = std::uint64_t(isa::bits(buffer.dtype));
  if (bits >= 8 || shape.empty()) return shape;
  if (shape.back() * bits % 8 != 0) return {buffer.size()};
  shape.back() = shape.back() * bits / 8;
  return shape;
}

std::size_t read_prologue(const std::vector<std::uint8_t>& file, const std::string& path, std::size_t& header_size) {
  if (file.size() < 10 || std::memcmp(file.data(), magic.data(), magic.size()) != 0)
    fail(path, "is not a .npy file (it does not start with \\x93NUMPY)");
  const int major = file[6];
  if (major < 1 || major > 3) fail(path, fmt::format("is of .npy format {}.{}; Kiln reads 1 to 3", major, file[7]));
  header_size = std::size_t(file[8]) | std::size_t(file[9]) << 8;
  if (major == 1) return 10;
  if (file.size() < 12) fail(path, "is cut off inside its header");
  header_size |= std::size_t(file[10]) << 16 | std::size_t(file[11]) << 24;
  return 12;
}

}  // namespace

NpyArray read_npy(const std::string& path) {
  std::vector<std::uint8_t> file = read_file(path);
  std::size_t header_size = 0;
  const std::size_t begin = read_prologue(file, path, header_size);
  if (file.size() - begin < header_size) fail(path, "is cut off inside its header");
  const std::string_view header(reinterpret_cast<const char*>(file.data()) + begin, header_size);
  NpyArray array = HeaderReader(header, path).read();
  if (element_bytes(array.dtype) == 0) fail(path, fmt::format("has elements of type '{}', not numbers", array.dtype));
  const std::optional<std::uint64_t> wanted = byte_count(array);
  const std::uint64_t found = file.size() - begin - header_size;
  if (!wanted || *wanted != found)
    fail(path, fmt::format("holds {} bytes of data, but its header says {}{}", found,
                           describe(array.dtype, array.shape), wanted ? fmt::format(", which is {}", *wanted) : ""));
  file.erase(file.begin(), file.begin() + std::ptrdiff_t(begin + header_size));
  array.bytes = std::move(file);
  return array;
}

void write_npy(const std::string& path, const NpyArray& array) {
  std::string shape = fmt::format("{}", fmt::join(array.shape, ", "));
  if (array.shape.size() == 1) shape += ",";
  const char* order = element_bytes(array.dtype) == 1 ? "|" : "<";
  std::string header =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}", order, array.dtype, shape);
  const std::size_t unpadded = magic.size() + 4 + header.size() + 1;
  header.append((header_alignment - unpadded % header_alignment) % header_alignment, ' ');
  header += '\n';
  std::string file(magic);
  for (const std::size_t byte : {std::size_t{1}, std::size_t{0}, header.size() & 0xFF, header.size() >> 8})
    file += char(byte);
  file += header;
  file.append(reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size());
  write_file(path, std::string_view(file));
}

std::string npy_dtype(ScalarType type) {
  const int bytes = std::max(1, isa::bits(type) / 8);
  const bool has_float =
      type == ScalarType::f16 || type == ScalarType::f32 || type == ScalarType::tf32 || type == ScalarType::f64;
  const char kind = has_float ? 'f' : isa::is_signed(type) && isa::bits(type) >= 8 ? 'i' : 'u';
  return fmt::format("{}{}", kind, bytes);
}

void load_npy(const std::string& path, launch::Buffer& buffer) {
  NpyArray array = read_npy(path);
  const std::string dtype = npy_dtype(buffer.dtype);
  const std::vector<std::uint64_t> shape = stored_shape(buffer);
  if (!same_dtype(array.dtype, dtype, buffer.dtype) || array.shape != shape)
    fail(path, fmt::format("buffer {} ({}) expects {}, the file has {}", buffer.name, isa::spelling(buffer.dtype),
                           describe(dtype, shape), describe(array.dtype, array.shape)));
  buffer.bytes = std::move(array.bytes);
}

void save_npy(const std::string& path, const launch::Buffer& buffer) {
  write_npy(path, {npy_dtype(buffer.dtype), stored_shape(buffer), buffer.bytes});
}

}  // namespace kiln::harness
