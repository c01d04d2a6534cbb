// The printed form of the two matrix-multiply descriptors, and the way back: "M=128 N=256 D=f32 A=bf16 B=bf16
// A_major=MN". Fields are listed once, below; the same list prints and reads. Nothing is judged here: a code that names
// nothing is printed as a number.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ptx/isa/mma_shape.hpp"
#include "ptx/isa/shared_descriptor.hpp"

namespace kiln::isa {

/// A short text made at compile time or at run time. Holds every descriptor's printed form.
class DescriptorText {
 public:
  static constexpr std::size_t capacity = 224;

  constexpr std::string_view view() const { return {text_.data(), size_}; }
  constexpr operator std::string_view() const { return view(); }

  constexpr void append(std::string_view more) {
    for (char c : more) text_[size_++] = c;
  }
  constexpr void append(std::uint64_t value, unsigned base) {
    std::array<char, 20> digits{};
    std::size_t n = 0;
    do digits[n++] = "0123456789abcdef"[value % base];
    while (value /= base);
    if (base == 16) append("0x");
    while (n) text_[size_++] = digits[--n];
  }

 private:
  std::array<char, capacity> text_{};
  std::size_t size_ = 0;
};

/// What reading a text gives: the value, or the word of the text that is wrong.
template <class Value>
struct Reading {
  std::optional<Value> value{};
  std::string_view wrong{};
};

namespace detail {

/// Decimal or 0x...; nothing for other text and for what 64 bits do not hold.
constexpr std::optional<std::uint64_t> read_number(std::string_view text) {
  const unsigned base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  if (text.empty()) return std::nullopt;
  std::uint64_t value = 0;
  for (char c : text) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : 99;
    if (digit >= int(base) || value > (~std::uint64_t{0} - unsigned(digit)) / base) return std::nullopt;
    value = value * base + unsigned(digit);
  }
  return value;
}

/// Whether a field is printed when it is zero.
enum class Shown : std::uint8_t { always, when_set };

/// How a number is written, in units of which it is a multiple.
struct NumberFormat {
  std::uint64_t most = 0;
  std::uint64_t unit = 1;
  unsigned base = 10;
};

/// Appends each field that it is shown to a text.
class FieldPrinter {
 public:
  DescriptorText text{};

  constexpr void number(std::string_view name, std::uint64_t value, NumberFormat format, Shown shown,
                        std::uint64_t usual = 0) {
    if (shown == Shown::when_set && value == usual) return;
    begin(name);
    text.append("=");
    text.append(value, format.base);
  }
  template <class Code, class Name>
  constexpr void code(std::string_view name, Code value, unsigned, Name name_of, Shown shown) {
    if (shown == Shown::when_set && unsigned(value) == 0) return;
    begin(name);
    text.append("=");
    if (const std::string_view word = name_of(unsigned(value)); !word.empty())
      text.append(word);
    else
      text.append(unsigned(value), 10);
  }
  constexpr void flag(std::string_view name, bool value) {
    if (value) begin(name);
  }
  constexpr void mask(std::string_view name, std::uint64_t value, std::uint64_t) {
    number(name, value, {.base = 16}, Shown::when_set);
  }

 private:
  constexpr void begin(std::string_view name) {
    if (!text.view().empty()) text.append(" ");
    text.append(name);
  }
};

/// Takes one word, "name=value" or "name", to the field of that name.
class FieldReader {
 public:
  constexpr explicit FieldReader(std::string_view word) {
    const std::size_t equals = word.find('=');
    name_ = word.substr(0, equals);
    if (equals != word.npos) value_ = word.substr(equals + 1);
  }
  constexpr bool is_read() const { return read_; }
  /// Which field of the list the word named.
  constexpr int index() const { return found_; }

  template <class Number>
  constexpr void number(std::string_view name, Number& to, NumberFormat format, Shown, std::uint64_t = 0) {
    if (!is(name) || !value_) return;
    const auto n = read_number(*value_);
    if (!n || *n > format.most || *n % format.unit) return;
    to = Number(*n);
    read_ = true;
  }
  template <class Code, class Name>
  constexpr void code(std::string_view name, Code& to, unsigned most, Name name_of, Shown) {
    if (!is(name) || !value_) return;
    for (unsigned c = 0; c <= most; ++c)
      if (const std::string_view word = name_of(c); !word.empty() && word == *value_) return set(to, c);
    if (const auto n = read_number(*value_); n && *n <= most) set(to, unsigned(*n));
  }
  constexpr void flag(std::string_view name, bool& to) {
    if (is(name) && !value_) read_ = to = true;
  }
  template <class Number>
  constexpr void mask(std::string_view name, Number& to, std::uint64_t allowed) {
    if (!is(name) || !value_) return;
    const auto n = read_number(*value_);
    if (!n || (*n & ~allowed)) return;
    to = Number(*n);
    read_ = true;
  }

 private:
  constexpr bool is(std::string_view name) {
    ++at_;
    if (name != name_) return false;
    found_ = at_;
    return true;
  }
  template <class Code>
  constexpr void set(Code& to, unsigned c) {
    to = Code(c);
    read_ = true;
  }

  std::string_view name_;
  std::optional<std::string_view> value_{};
  int at_ = -1, found_ = -1;
  bool read_ = false;
};

// The fields of both descriptors, in the order in which they are printed
// -----------------------------------------------

template <class Fields, class Io>
constexpr void each_field(Fields& f, MmaKind kind, Io& io) {
  const bool scaled = is_block_scaled(kind);
  const auto operand = [kind](unsigned c) { return spelling(operand_type(kind, std::uint8_t(c))); };
  const auto major = [](unsigned c) { return std::string_view(c ? "MN" : "K"); };
  io.number("M", f.m, {.most = 31 << 4, .unit = 16}, Shown::always);
  io.number("N", f.n, {.most = 63 << 3, .unit = 8}, Shown::always);
  if (!scaled)
    io.code(
        "D", f.d_type, 3, [](unsigned c) { return spelling(d_type(std::uint8_t(c))); }, Shown::always);
  io.code("A", f.a_type, 7, operand, Shown::always);
  io.code("B", f.b_type, 7, operand, Shown::always);
  if (scaled)
    io.code(
        "scale_format", f.scale_format, 3, [](unsigned c) { return spelling(scale_format(std::uint8_t(c))); },
        Shown::always);
  io.code("A_major", f.a_major, 1, major, Shown::when_set);
  io.code("B_major", f.b_major, 1, major, Shown::when_set);
  io.flag("negate_A", f.negate_a);
  io.flag("negate_B", f.negate_b);
  io.flag("sparse", f.sparse);
  io.number("sparsity_selector", f.selector, {.most = 3}, Shown::when_set);
  if (scaled) {
    io.number("SFA_id", f.sfa_id, {.most = 3}, Shown::when_set);
    io.number("SFB_id", f.sfb_id, {.most = 3}, Shown::when_set);
    if (kind != MmaKind::mxf8f6f4) io.flag("K96", f.k96);
  } else {
    io.flag("saturate", f.saturate);
    constexpr std::string_view columns[] = {"0", "8", "16", "32"};
    io.code(
        "max_shift", f.max_shift, 3, [&columns](unsigned c) { return columns[c]; }, Shown::when_set);
  }
  if (idesc_wide_bit(kind) != 0) io.flag("wide", f.wide);
  io.mask("reserved", f.reserved, idesc_reserved_bits(kind));
}

template <class Fields, class Io>
constexpr void each_field(Fields& f, Io& io) {
  constexpr NumberFormat offset{.most = descriptor_address_mask, .unit = descriptor_unit_bytes};
  io.number("start", f.start, {offset.most, offset.unit, 16}, Shown::always);
  io.number("leading", f.leading, offset, Shown::always);
  io.number("stride", f.stride, offset, Shown::always);
  io.code(
      "swizzle", f.swizzle_code, 7,
      [](unsigned c) {
        const auto s = descriptor_swizzle(std::uint8_t(c));
        return s ? spelling(*s) : std::string_view();
      },
      Shown::always);
  io.number("version", f.version, {.most = 7}, Shown::when_set, descriptor_version);
  io.number("base_offset", f.base_offset, {.most = 7}, Shown::when_set);
  io.flag("leading_is_absolute", f.leading_is_absolute);
  io.mask("reserved", f.reserved, descriptor_reserved_bits);
}

/// Reads words until one is wrong: of no field, with a value that the field does not hold, or the second for its field.
template <class Fields, class Visit>
constexpr Reading<Fields> read_fields(std::string_view text, Visit visit) {
  Fields f;
  std::uint32_t seen = 0;
  while (true) {
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == text.npos) break;
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, text.find(' '));
    FieldReader reader(word);
    visit(f, reader);
    if (!reader.is_read() || (seen >> reader.index() & 1)) return {{}, word};
    seen |= 1u << reader.index();
    text.remove_prefix(word.size());
  }
  return {f, {}};
}

}  // namespace detail

/// "M=128 N=256 D=f32 A=bf16 B=bf16": the shape and types, and what else is not zero. The kind is not in the text, as
/// it is not in the word.
constexpr DescriptorText printed(InstructionDescriptor d) {
  const InstructionDescriptorFields f = d.fields();
  detail::FieldPrinter printer;
  detail::each_field(f, d.kind(), printer);
  return printer.text;
}

/// "start=0x4000 leading=0 stride=1024 swizzle=128B": addresses and offsets in bytes, and what else is unusual.
constexpr DescriptorText printed(SharedDescriptor d) {
  const SharedDescriptorFields f = d.fields();
  detail::FieldPrinter printer;
  detail::each_field(f, printer);
  return printer.text;
}

/// The inverse of printed(): words in any order, fields that are left out are zero.
constexpr Reading<InstructionDescriptor> read_instruction_descriptor(std::string_view text, MmaKind kind) {
  const auto r = detail::read_fields<InstructionDescriptorFields>(
      text, [kind](auto& f, auto& reader) { detail::each_field(f, kind, reader); });
  if (!r.value) return {{}, r.wrong};
  return {InstructionDescriptor::raw(pack(*r.value, kind), kind), {}};
}

/// The inverse of printed(): words in any order, fields that are left out are as in the descriptor of nothing.
constexpr Reading<SharedDescriptor> read_shared_descriptor(std::string_view text) {
  const auto r =
      detail::read_fields<SharedDescriptorFields>(text, [](auto& f, auto& reader) { detail::each_field(f, reader); });
  if (!r.value) return {{}, r.wrong};
  return {SharedDescriptor::raw(pack(*r.value)), {}};
}

static_assert(printed(InstructionDescriptor::raw(0xFFFF'FFFF, MmaKind::i8)).view().size() < DescriptorText::capacity);
static_assert(printed(InstructionDescriptor::raw(0xFFFF'FFFF, MmaKind::mxf4)).view().size() < DescriptorText::capacity);
static_assert(printed(SharedDescriptor::raw(~std::uint64_t{0})).view().size() < DescriptorText::capacity);

}  // namespace kiln::isa
