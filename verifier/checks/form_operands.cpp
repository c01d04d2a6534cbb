// What the operand letters of forms.def mean.
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "verifier/checks/forms.hpp"
#include "verifier/checks/given_operand.hpp"
#include "verifier/checks/operand_shapes.hpp"
#include "verifier/checks/register_types.hpp"
#include "verifier/checks/texture_operands.hpp"

namespace kiln::verifier::operands {
namespace {

using isa::ScalarType;
using Kind = ir::Argument::Kind;

bool is_b32(ScalarType t) { return t == ScalarType::b32; }

bool is_address_of_space_named(const Given& g) {
  const ir::Argument* base = address_base(g.code, g.a);
  // ptxas takes them everywhere but here, where it wants one as wide as the address.
  if (base && base->kind == Kind::special && g.op.opcode == isa::Opcode::tcgen05_alloc && g.names_space())
    return is_wide(*base);
  if (base && base->kind == Kind::special) return true;
  if (g.is_too_narrow()) return false;
  return g.names_space() ? g.is_address(g.op.modifiers.space()) : g.is_any_address();
}

bool is_mbarrier(const Given& g) {
  if (g.names_space()) return g.is_address(g.op.modifiers.space());
  const ir::Argument* base = address_base(g.code, g.a);
  return base && (g.has_base(is_int64) || is_in(g.code, *base, {isa::Space::shared}));
}

bool is_narrow(const Given& g) { return is_int32(g.type) || g.type == ScalarType::f32; }

bool is_8_bit_float(ScalarType t) { return t == ScalarType::e4m3 || t == ScalarType::e5m2; }
bool is_4_bit_integer(ScalarType t) { return t == ScalarType::u4 || t == ScalarType::s4; }

int sm_of(const Given& g) {
  const auto target = g.code.module->target();
  return target ? target->sm : 0;
}

// In braces ptxas takes 1, 2, 4 or 8 of them, and uses the first; one as the reduced value of tcgen05.ld.red. Metadata
// of 8-bit floats may be braced before sm_90 and from sm_120 on, those of 4-bit integers before sm_90.
bool is_narrow_or_in_braces(const Given& g) {
  if (g.a.kind != Kind::vector) return is_narrow(g);
  if (g.op.opcode == isa::Opcode::tcgen05_ld_red || g.op.opcode == isa::Opcode::tcgen05_ld_red_spcompress)
    return g.a.count == 1 && is_vector(g.code, g.a, Others::none);
  const int sm = sm_of(g);
  if (sm >= 90 && ((is_8_bit_float(g.op.modifiers.types[1]) && sm < 120) || is_4_bit_integer(g.op.modifiers.types[1])))
    return false;
  return g.a.count <= 8 && std::has_single_bit(unsigned(g.a.count)) && is_vector(g.code, g.a, Others::numbers);
}

bool is_sparse_metadata(const Given& g) {
  const ScalarType a = g.op.modifiers.types[1];
  const bool may_be_braced =
      a == ScalarType::bf16 || a == ScalarType::tf32 || is_8_bit_float(a) || (sm_of(g) && sm_of(g) < 100);
  return is_narrow(g) || (may_be_braced && is_narrow_or_in_braces(g));
}

bool is_results(const Given& g) {
  if (!g.slot.count) return is_int32(g.type);
  return g.a.kind == Kind::vector && g.a.count == g.slot.count && is_written(g.code, g.a);
}

// Registers and numbers as wide as the type that the instruction names.
bool is_of_type_written(const Given& g) {
  const ScalarType type = g.op.modifiers.type();
  const auto is_one = [&](const ir::Argument& a) {
    return is_number(a) || (a.kind == Kind::real && isa::bits(type) <= 64) ||
           (a.kind == Kind::reg && isa::bits(type_of(g.code, a)) == isa::bits(type));
  };
  const int width = isa::vector_width(g.op.modifiers.vector);
  if (width == 1) return is_one(g.a);
  const auto parts = g.code.components(g.a);
  return g.a.kind == Kind::vector && int(parts.size()) == width && std::all_of(parts.begin(), parts.end(), is_one);
}

// Letters that stand for an operand of a type: that of the instruction with the number after the letter, from 0, or the
// one in parentheses.
bool asks_for_type(char letter) { return std::string_view("TWJZLYXKC}*u{&+").find(letter) != std::string_view::npos; }

bool is_register_of(const Given& g, ScalarType type) {
  return g.a.kind == Kind::reg && goes_with(g.type, type) && !g.a.negated;
}
// A predicate that is read may be negated, and so may what vmad multiplies and adds.
bool is_value_of(const Given& g, ScalarType type) {
  const bool may_be_negated = type == ScalarType::pred || g.op.opcode == isa::Opcode::vmad;
  return is_register_of(g, type) || is_literal_of(g.a, type) ||
         (may_be_negated && g.a.kind == Kind::reg && goes_with(g.type, type));
}

// As many as the instruction's vector has, or one.
template <class Is>
bool is_each(const Given& g, Is is) {
  const int width = isa::vector_width(g.op.modifiers.vector);
  const bool may_be_braced = g.op.opcode == isa::Opcode::ld || g.op.opcode == isa::Opcode::st;
  if (width == 1)
    return is(may_be_braced && g.a.kind == Kind::vector && g.a.count == 1 ? g.code.components(g.a)[0] : g.a);
  const auto parts = g.code.components(g.a);
  return g.a.kind == Kind::vector && int(parts.size()) == width && std::all_of(parts.begin(), parts.end(), is);
}

bool is_loaded(const Given& g) {
  const bool is_vector = g.op.modifiers.vector != isa::Vector::none;
  return is_each(g, [&](const ir::Argument& a) {
    return (is_vector && a.kind == Kind::sink) || (a.kind == Kind::reg && holds(type_of(g.code, a), g.slot.type));
  });
}

// A special register that mov moves. Those of PTX 1 had 16 bits, and may be read so.
bool is_moved_special(const Given& g, const ir::Argument& a) {
  if (!isa::is_integer(g.slot.type) && !is_untyped(g.slot.type)) return false;
  const int bits = isa::bits(g.slot.type);
  const std::string_view name = a.operand->text;
  const auto special = ir::Special(a.id);
  if (special == ir::Special::gridid) return bits >= 16 && bits <= 64;
  if (special == ir::Special::pm) return bits == (name.ends_with("_64") ? 64 : 32);
  constexpr std::string_view oldest[] = {"%tid", "%ntid", "%ctaid", "%nctaid"};
  const auto plain = name.substr(0, name.find('.'));
  const bool is_oldest = std::find(std::begin(oldest), std::end(oldest), plain) != std::end(oldest);
  return bits == (is_wide(a) ? 64 : 32) || (bits == 16 && is_oldest);
}

// What multimem and vectors of sums have: floats below 16 bits are untyped bits.
bool is_exactly(const Given& g) {
  ScalarType type = g.slot.type;
  if (isa::type_class(type) == isa::TypeClass::packed && type != ScalarType::f16x2)
    type = isa::bits(type) == 16 ? ScalarType::b16 : ScalarType::b32;
  if (isa::bits(type) == 8) type = ScalarType::b8;
  return is_each(g, [&](const ir::Argument& a) {
    if (a.kind == Kind::special) return g.op.opcode == isa::Opcode::mov && is_moved_special(g, a);
    return (a.kind == Kind::reg && goes_with(type_of(g.code, a), type)) || (g.is_read() && is_literal_of(a, type)) ||
           (!g.is_read() && a.kind == Kind::sink && g.a.kind == Kind::vector);
  });
}

// cvt takes special registers too, as integers that become integers.
bool is_stored(const Given& g) {
  const bool converts =
      g.op.opcode == isa::Opcode::cvt && isa::is_integer(g.slot.type) && isa::is_integer(g.op.modifiers.type());
  return is_each(g, [&](const ir::Argument& a) {
    if (a.kind == Kind::special && converts) return isa::bits(g.slot.type) <= 32 || is_wide(a);
    return (a.kind == Kind::reg && holds(type_of(g.code, a), g.slot.type)) || is_literal_of(a, g.slot.type);
  });
}

// The parts of an untyped value, which mov joins and splits.
bool is_of_parts(const Given& g, bool written) {
  if (g.a.kind != Kind::vector || !is_untyped(g.slot.type)) return false;
  const auto parts = g.code.components(g.a);
  const int bits = isa::bits(g.slot.type) / std::max<int>(1, int(parts.size()));
  return (parts.size() == 1 || parts.size() == 2 || parts.size() == 4) &&
         std::all_of(parts.begin(), parts.end(), [&](const ir::Argument& c) {
           if (c.kind == Kind::sink) return written;
           return (c.kind == Kind::reg && isa::bits(type_of(g.code, c)) == bits) || (!written && is_number(c));
         });
}

bool is_moved(const Given& g) {
  if (is_value_of(g, g.slot.type)) return true;
  const bool is_word = isa::is_integer(g.slot.type) || is_untyped(g.slot.type);
  if (g.a.kind == Kind::special)
    return ir::Special(g.a.id) == ir::Special::is_explicit_cluster ? g.slot.type == ScalarType::pred
                                                                   : is_moved_special(g, g.a);
  const isa::Space space = g.op.modifiers.space();
  if (g.op.opcode == isa::Opcode::cvta && g.a.kind == Kind::symbol)
    return is_shared(space) ? is_in(g.code, g.a, {isa::Space::shared, isa::Space::shared_cta})
                            : is_in(g.code, g.a, {space});
  return is_word && (g.a.kind == Kind::symbol || g.a.kind == Kind::function || g.a.kind == Kind::label);
}

// What a comparison, a shuffle or a table of bits writes: a value, or a value and a predicate, joined by |. Comparisons
// write predicates alone.
bool is_result_and_predicate(const Given& g) {
  using isa::Opcode;
  const Opcode op = g.op.opcode;
  const ScalarType first = op == Opcode::setp         ? ScalarType::pred
                           : op == Opcode::match_sync ? ScalarType::u32
                                                      : ScalarType::b32;
  const auto is_first = [&](const ir::Argument& c) {
    return c.kind == Kind::sink || (goes_with(type_of(g.code, c), first) && !c.negated);
  };
  if (g.a.kind != Kind::pair)
    return op != Opcode::lop3 && is_first(g.a) && (op != Opcode::shfl || g.a.kind == Kind::reg);
  const auto parts = g.code.components(g.a);
  return is_first(parts[0]) &&
         ((parts[1].kind == Kind::sink) || (type_of(g.code, parts[1]) == ScalarType::pred && !parts[1].negated));
}

bool is_predicate(const Given& g) { return g.type == ScalarType::pred || g.is_a_number(); }

bool is_fraction(const Given& g) {
  if (g.a.kind != Kind::real) return g.a.kind == Kind::reg && goes_with(g.type, ScalarType::f32);
  const double value =
      g.a.is_single ? double(std::bit_cast<float>(std::uint32_t(g.a.value))) : std::bit_cast<double>(g.a.value);
  return value > 0 && value <= 1;
}

bool is_power_of_two(const Given& g) {
  return is_number(g.a) && number(g.a) > 0 && std::has_single_bit(std::uint64_t(number(g.a)));
}

// A or B of f16, bf16 or tf32: one register of type .b32 is enough for ptxas; of f16 they may be pairs.
bool is_half_operand(const Given& g) {
  const auto parts = g.code.components(g.a);
  const auto is_untyped = [&](const ir::Argument& c) { return type_of(g.code, c) == ScalarType::b32; };
  if (std::any_of(parts.begin(), parts.end(), is_untyped)) return is_fragment_of_32_bits(g.code, g.a, g.others());
  return g.op.modifiers.types[1] == ScalarType::f16 && has_register(g.code, g.a) &&
         is_fragment(g.code, g.a, {ScalarType::f16x2}, g.others());
}

// A letter of forms.def: what it stands for, where # is how many elements there are, and whether an operand is that.
struct Letter {
  char letter;
  const char* words;
  bool (*fits)(const Given&);
};
constexpr Letter letters[] = {
    {'r', "a 32-bit integer register or number", [](auto& g) { return is_int32(g.type) || g.is_a_number(); }},
    {'V', "an operand", [](auto&) { return true; }},
    // Of a type; ! stands for its spelling
    {'W', "a register of type .!", [](auto& g) { return is_register_of(g, g.slot.type); }},
    {'T', "a register or number of type .!", [](auto& g) { return is_value_of(g, g.slot.type); }},
    {'Z', "a register twice as wide as .!", [](auto& g) { return is_register_of(g, twice(g.slot.type)); }},
    {'J', "a register or number twice as wide as .!", [](auto& g) { return is_value_of(g, twice(g.slot.type)); }},
    {'L', "registers that hold .!", is_loaded},  // one, or as many as its vector has
    {'Y', "registers or numbers that hold .!", is_stored},
    {'X', "a register of type .!, or _",
     [](auto& g) {
       if (g.a.kind == Kind::sink) return true;
       return g.op.modifiers.vector == isa::Vector::none ? is_register_of(g, g.slot.type) : is_exactly(g);
     }},
    {'K', "the parts of a register of type .!",
     [](auto& g) {
       return is_of_parts(g, true);
     }},
    {'}', "the parts of a value of type .!", [](auto& g) { return is_of_parts(g, false); }},
    {'*', "registers of type .!", is_exactly},  // one, or as many as its vector has
    {'C', "a value of type .!, or an address", is_moved},
    {'@', "a texture or surface", is_texture},
    {'u', "a texture with coordinates of type .!", is_texture_address},
    {'{', "a vector of what is fetched", is_fetched},
    {'+', "a level of type .!", is_level},
    {'!', "a gradient: a vector of floats, one a direction", is_gradient},
    {'~', "offsets in a vector, or a depth to compare with", is_texel_offset_or_depth},
    {';', "offsets in a vector", is_texel_offset},
    {'-', "a depth to compare with", is_depth},
    {'?', "a fraction above 0 and up to 1, or a register of type .f32", is_fraction},
    {'^', "a power of two", is_power_of_two},
    {'&', "registers of type .!", is_surface_value},  // one, one in braces, or as many as its vector has
    {'|', "a result, or a result and a predicate joined by |", is_result_and_predicate},
    {'x', "a 64-bit integer register or number", [](auto& g) { return is_int64(g.type) || g.is_a_number(); }},
    {'i', "a 32-bit integer register", [](auto& g) { return is_int32(g.type); }},
    {'j', "a 64-bit integer register", [](auto& g) { return is_int64(g.type); }},
    {'k', "a 16-bit register", [](auto& g) { return is_int16(g.type); }},                               // a CTA mask
    {'h', "a 16-bit register or number", [](auto& g) { return is_int16(g.type) || g.is_a_number(); }},  // a mask
    {'e', "a 32-bit register", is_narrow},
    {'f', "a 32-bit register", is_narrow_or_in_braces},
    {'%', "a 32-bit register", is_sparse_metadata},
    {'y', "a 32-bit integer register, number or shared variable",
     [](auto& g) { return is_int32(g.type) || g.is_a_number() || g.is_shared_variable(); }},
    {'z', "a 64-bit integer register, number or shared variable",
     [](auto& g) { return is_int64(g.type) || g.is_a_number() || g.is_shared_variable(); }},
    {'n', "a number", [](auto& g) { return g.is_a_number(); }},
    {'p', "a predicate or number", [](auto& g) { return g.type == ScalarType::pred || g.is_a_number(); }},
    {'P', "a predicate", [](auto& g) { return g.type == ScalarType::pred; }},  // ! allowed
    {'$', "a predicate or number", is_predicate},
    {'q', "a predicate register", [](auto& g) { return g.type == ScalarType::pred && !g.a.negated; }},
    {'s', "a 64-bit register or _", [](auto& g) { return is_int64(g.type) || g.a.kind == Kind::sink; }},  // a state
    {'_', "_", [](auto& g) { return g.a.kind == Kind::sink; }},
    {'Q', "a .b128 register", [](auto& g) { return g.type == ScalarType::b128; }},
    {'R', "two predicates, joined by |", [](auto& g) { return is_reported(g.code, g.a); }},
    {'b', "an 8-bit register", [](auto& g) { return is_int8(g.type); }},
    {'U', "registers of the instruction's type", is_of_type_written},  // one, or as many as its vector has
    {'E', "a register and a predicate, joined by |", [](auto& g) { return is_elected(g.code, g.a); }},
    // Addresses
    {'t', "a tensor-memory address in a 32-bit register", [](auto& g) { return g.has_base(is_int32); }},
    {'d', "a tensor-memory address in a .b32 register", [](auto& g) { return g.has_base(is_b32); }},
    {'a', "a matrix descriptor or a tensor-memory address in a .b32 register",
     [](auto& g) { return is_int64(g.type) || g.is_a_number() || g.has_base(is_b32); }},
    {'m', "an address in the space of the instruction", is_address_of_space_named},
    {'M', "an address in the space of the instruction", is_mbarrier},
    {'S', "an address in shared memory", [](auto& g) { return g.is_address(isa::Space::shared); }},
    {'G', "an address in global memory",
     [](auto& g) { return g.is_address(isa::Space::global) && !g.is_too_narrow(); }},
    {'A', "an address",
     [](auto& g) {
       const bool named = g.op.opcode == isa::Opcode::tensormap_replace && g.names_space();
       return named ? g.is_address(g.op.modifiers.space()) : g.is_any_address();
     }},
    {'H', "a handle of the fabric", [](auto& g) { return is_handle(g.code, g.op.modifiers, g.a); }},
    {'c', "a tensor map with coordinates", [](auto& g) { return is_tensor_address(g.code, g.op.modifiers, g.a); }},
    // Vectors; v and o of any length where no count is given
    {'o', "a vector of #16-bit offsets", [](auto& g) { return is_offsets(g.code, g.a); }},  // of im2col
    {'v', "a vector of #32-bit registers",
     [](auto& g) { return is_vector(g.code, g.a, g.is_read() ? Others::none : g.others()); }},
    {'w', "a vector of #32-bit registers and numbers", [](auto& g) { return is_vector(g.code, g.a, Others::numbers); }},
    {'l', "a vector of lane masks", [](auto& g) { return is_vector(g.code, g.a, Others::numbers); }},  // 4 or 8
    {'g', "a 32-bit integer register", is_results},  // with a count, {registers or _}
    // Fragments of matrices, with numbers where they are read
    {'B', "#registers of type .b32",
     [](auto& g) { return has_register(g.code, g.a) && is_fragment(g.code, g.a, {ScalarType::b32}, g.others()); }},
    {':', "#registers of type .b32", is_half_operand},  // A or B of 16 bits, or tf32
    {'=', "#32-bit registers",                          // A or B of 8 bits and fewer
     [](auto& g) { return has_register(g.code, g.a) && is_fragment_of_32_bits(g.code, g.a, g.others()); }},
    {'F', "#registers of type .f32",
     [](auto& g) {
       if (g.is_c() && has_integers_alone(g.code, g.a)) return false;
       return is_fragment(g.code, g.a, {ScalarType::f32, ScalarType::b32}, g.others());
     }},
    {'I', "#registers of 32-bit integers",
     [](auto& g) {
       return (g.is_c() || has_register(g.code, g.a)) &&
              is_fragment(g.code, g.a, {ScalarType::b32, ScalarType::s32, ScalarType::u32}, g.others());
     }},
    {'D', "#registers of type .f64",
     [](auto& g) {
       return is_fragment(g.code, g.a, {ScalarType::f64, ScalarType::b64}, g.others());
     }},
    // {byte id, thread id} of A's and of B's scales; the range is of the byte id
    {'N', "{byte id, thread id} as the kind has them, in 16-bit registers or numbers,",
     [](auto& g) { return is_scale_selector(g.code, g.slot, g.a, 1); }},
    {'O', "{byte id, thread id} as the kind has them, in 16-bit registers or numbers,",
     [](auto& g) { return is_scale_selector(g.code, g.slot, g.a, 3); }}};

constexpr auto by_letter = [] {
  std::array<const Letter*, 128> out{};
  for (const Letter& l : letters) out[std::size_t(l.letter)] = &l;
  return out;
}();

}  // namespace
}  // namespace kiln::verifier::operands

namespace kiln::verifier {

OperandSlot sized(const OperandSlot& slot, const ir::Operation& op) {
  OperandSlot out = slot;
  if (operands::asks_for_type(slot.letter) && slot.type == isa::ScalarType::none)
    out.type = op.modifiers.types[int(slot.count)];
  for (std::string_view m : op.modifiers.others)
    if (const std::size_t n = m.find('n'); slot.columns && m.starts_with('m') && n != m.npos) {
      std::uint32_t columns = 0;
      std::from_chars(m.data() + n + 1, m.data() + m.size(), columns);
      out.count = columns / slot.columns;
    }
  return out;
}

namespace {

// A type that an instruction is yet to say, by which of its types it is.
std::string type_words(const OperandSlot& slot) {
  constexpr std::array<std::string_view, 5> places{"first", "second", "third", "fourth", "fifth"};
  return "the instruction's " + std::string(places.at(slot.count)) + " type";
}

}  // namespace

std::string describe(const OperandSlot& slot) {
  const std::string count = slot.count ? std::to_string(slot.count) + " " : "";
  if (slot.letter == 'g' && slot.count) return "a vector of " + count + "32-bit integer registers";
  std::string words = operands::by_letter[std::size_t(slot.letter)]->words;
  const bool is_open = slot.type == isa::ScalarType::none;
  for (const std::string_view type : {"type .!", ".!"})
    if (const std::size_t at = words.find(is_open ? type : "!"); at != words.npos)
      words.replace(at, is_open ? type.size() : 1, is_open ? type_words(slot) : std::string(isa::spelling(slot.type)));
  if (const std::size_t at = words.find('#'); at != words.npos) words.replace(at, 1, count);
  return words;
}

bool fits(const ir::Code& code, const ir::Operation& op, const OperandSlot& slot, const ir::Argument& a) {
  if (operands::has_raw(code, a)) return true;
  if (operands::is_number(a) && !slot.takes(operands::number(a))) return false;
  const bool is_counted =
      slot.letter != 'f' && !operands::asks_for_type(slot.letter) && slot.count && a.kind == ir::Argument::Kind::vector;
  return (!is_counted || a.count == slot.count) &&
         operands::by_letter[std::size_t(slot.letter)]->fits({code, op, slot, a});
}

}  // namespace kiln::verifier
