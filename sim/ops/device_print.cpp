#include "sim/ops/device_print.hpp"

#include <bit>
#include <cstdio>

namespace kiln::sim {
namespace {

// One conversion: "%-5.2lld" in parts.
struct Conversion {
  std::string flags{};  // flags, width and precision, stars replaced
  bool is_long = false;
  int narrow = 0;  // h: 2, hh: 1 byte
  char kind = 0;
};

class Printer {
 public:
  Printer(const std::string& format, const PrintSource& source) : format_(format), source_(source) {}

  Printed run() {
    while (at_ < format_.size()) {
      const char c = format_[at_++];
      if (c != '%')
        out_.text += c;
      else
        convert();
    }
    return out_;
  }

 private:
  std::uint64_t take(int bytes) {
    offset_ = (offset_ + std::uint64_t(bytes) - 1) / std::uint64_t(bytes) * std::uint64_t(bytes);
    const std::uint64_t v = source_.argument(offset_, bytes);
    offset_ += std::uint64_t(bytes);
    ++out_.arguments;
    return v;
  }

  Conversion parse() {
    Conversion c;
    for (; at_ < format_.size(); ++at_) {
      const char x = format_[at_];
      if (x == '*')
        c.flags += std::to_string(std::int32_t(take(4)));
      else if (x == 'l' || x == 'j' || x == 'z' || x == 't' || x == 'L')
        c.is_long = true;
      else if (x == 'h')
        c.narrow = c.narrow == 2 ? 1 : 2;
      else if (std::string_view("-+ #0123456789.").find(x) != std::string_view::npos)
        c.flags += x;
      else
        break;
    }
    if (at_ < format_.size()) c.kind = format_[at_++];
    return c;
  }

  template <class T>
  void print(const Conversion& c, const char* length, T value) {
    const std::string spec = "%" + c.flags + length + c.kind;
    char small[256];
    const int n = std::snprintf(small, sizeof small, spec.c_str(), value);
    if (n < int(sizeof small)) {
      out_.text += small;
      return;
    }
    std::string large(std::size_t(n) + 1, '\0');
    std::snprintf(large.data(), large.size(), spec.c_str(), value);
    large.pop_back();
    out_.text += large;
  }

  void convert() {
    const std::size_t start = at_;
    const Conversion c = parse();
    switch (c.kind) {
      case '%': out_.text += '%'; return;
      case 'd':
      case 'i': return print(c, "ll", signed_value(c));
      case 'u':
      case 'x':
      case 'X':
      case 'o': return print(c, "ll", unsigned_value(c));
      case 'c': return print(c, "", int(take(4)));
      case 'f':
      case 'F':
      case 'e':
      case 'E':
      case 'g':
      case 'G':
      case 'a':
      case 'A': return print(c, "", std::bit_cast<double>(take(8)));
      case 'p': {
        Conversion x = c;
        x.kind = 'x';
        x.flags += '#';
        return print(x, "ll", static_cast<unsigned long long>(take(8)));
      }
      case 's': return print(c, "", source_.string(take(8)).c_str());
      default: out_.text += "%" + format_.substr(start, at_ - start);  // not a conversion: printed as it stands
    }
  }

  long long signed_value(const Conversion& c) {
    if (c.is_long) return static_cast<long long>(take(8));
    const auto v = std::int32_t(take(4));
    return c.narrow == 2 ? std::int16_t(v) : c.narrow == 1 ? std::int8_t(v) : v;
  }
  unsigned long long unsigned_value(const Conversion& c) {
    if (c.is_long) return take(8);
    const auto v = std::uint32_t(take(4));
    return c.narrow == 2 ? std::uint16_t(v) : c.narrow == 1 ? std::uint8_t(v) : v;
  }

  const std::string& format_;
  const PrintSource& source_;
  std::size_t at_ = 0;
  std::uint64_t offset_ = 0;
  Printed out_;
};

}  // namespace

Printed device_print(const std::string& format, const PrintSource& source) { return Printer(format, source).run(); }

}  // namespace kiln::sim
