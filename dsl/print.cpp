// printf as nvcc writes it: the arguments lie one after the other in local memory, each at a multiple of its size, and
// vprintf gets their address. CUDA C++ Programming Guide, "Formatted Output".
#include <cctype>

#include "dsl/operands.hpp"
#include "dsl/scope.hpp"

namespace kiln::dsl {
namespace {

constexpr std::string_view print_function = "vprintf", print_buffer = "kiln_print_arguments";

ir::Variable print_parameter(std::string name, ScalarType type) {
  ir::Variable v;
  v.space = isa::Space::param;
  v.type = type;
  v.name = std::move(name);
  return v;
}

// What each conversion of a format takes: 'd' 32 bits, 'l' 64 bits, 'f' a float, 's' a text; '?' is none.
std::string print_conversions(const std::string& format) {
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') continue;
    if (format[++i] == '%') continue;
    int longs = 0;
    while (i < format.size() && (std::isdigit(static_cast<unsigned char>(format[i])) ||
                                 std::string_view("-+ #.l").find(format[i]) != std::string_view::npos))
      longs += format[i++] == 'l';
    const char c = i < format.size() ? format[i] : '\0';
    const auto one_of = [c](std::string_view set) { return c != '\0' && set.find(c) != std::string_view::npos; };
    if (one_of("diuoxXc")) out += longs > 0 ? 'l' : 'd';
    else if (one_of("fFeEgGaA")) out += 'f';
    else out += c == 'p' ? 'l' : c == 's' ? 's' : '?';
  }
  return out;
}

char print_kind(const PrintArgument& a) {
  if (a.type == ScalarType::none) return 's';
  return a.type == ScalarType::f32 ? 'f' : isa::bits(a.type) == 64 ? 'l' : 'd';
}

std::string_view print_words(char kind) {
  switch (kind) {
    case 'd': return "an integer of 32 bits";
    case 'l': return "an integer of 64 bits";
    case 'f': return "an F32";
    case 's': return "a host string";
    default: return "nothing that is known";
  }
}

}  // namespace

void Scope::print(const PrintFormat& format, const std::vector<PrintArgument>& arguments) {
  const Here at = format.at;
  const std::string wanted = print_conversions(format.text);
  bool fits = wanted.size() == arguments.size();
  if (!fits)
    rec_->require(rules::breaks(rules::Rule::arguments), at,
                  "the format of printf takes " + std::to_string(wanted.size()) + " values, " +
                      std::to_string(arguments.size()) + " are given");
  for (std::size_t i = 0; fits && i < arguments.size(); ++i) {
    if (wanted[i] == print_kind(arguments[i])) continue;
    fits = false;
    rec_->require(rules::breaks(rules::Rule::arguments), at,
                  "value " + std::to_string(i + 1) + " of printf is " +
                      std::string(print_words(print_kind(arguments[i]))) + ", its format takes " +
                      std::string(print_words(wanted[i])));
  }
  if (!fits) return;
  const auto generic = [&](std::string_view space, const Operand& place) {
    return rec_->pure(ScalarType::b64, "cvta." + std::string(space) + ".u64", {place}, at);
  };
  const auto address_of_text = [&](const std::string& text) {
    return generic("global", rec_->pure(ScalarType::b64, "mov.b64", {Operand::named(rec_->text_symbol(text))}, at));
  };
  const Operand buffer = rec_->pure(ScalarType::b64, "mov.b64", {Operand::named(std::string(print_buffer))}, at);
  int offset = 0;
  for (const PrintArgument& a : arguments) {
    const char kind = print_kind(a);
    const int bytes = kind == 'd' ? 4 : 8;
    offset = (offset + bytes - 1) / bytes * bytes;
    Operand value = kind == 's' ? address_of_text(a.text) : a.value;
    if (kind == 'f') {
      const Operand wide = rec_->fresh(ScalarType::f64);
      rec_->emit("cvt.f64.f32", {wide, in_register(*rec_, value, at)}, at);
      value = wide;
    }
    rec_->emit(kind == 'd' ? "st.local.b32" : kind == 'f' ? "st.local.f64" : "st.local.b64",
               {Operand::address(buffer, offset), std::move(value)}, at);
    offset += bytes;
  }
  rec_->printed_with(std::max(offset, 8));
  const Operand text = address_of_text(format.text), values = generic("local", buffer);
  rec_->block([&] {
    rec_->declare(print_parameter("param0", ScalarType::b64));
    rec_->declare(print_parameter("param1", ScalarType::b64));
    rec_->declare(print_parameter("retval0", ScalarType::b32));
    rec_->emit("st.param.b64", {Operand::address(Operand::named("param0")), text}, at);
    rec_->emit("st.param.b64", {Operand::address(Operand::named("param1")), values}, at);
    const auto list = [](std::vector<Operand> items) {
      Operand o = Operand::vector(std::move(items));
      o.kind = Operand::Kind::list;
      return o;
    };
    rec_->emit("call.uni", {list({Operand::named("retval0")}), Operand::named(std::string(print_function)),
                            list({Operand::named("param0"), Operand::named("param1")})}, at);
  });
}

void append_prints(const Recorder& r, ir::Module& module) {
  if (r.print_bytes() == 0) return;
  ir::Function f;
  f.linkage = ir::Linkage::external;
  f.name = print_function;
  f.returns = {print_parameter("func_retval0", ScalarType::b32)};
  f.parameters = {print_parameter("vprintf_param_0", ScalarType::b64),
                  print_parameter("vprintf_param_1", ScalarType::b64)};
  module.items.push_back(std::move(f));
  for (std::size_t i = 0; i < r.texts().size(); ++i) {
    ir::Variable v;
    v.space = isa::Space::global;
    v.align = 1;
    v.type = ScalarType::b8;
    v.name = Recorder::symbol_of_text(i);
    v.dims.push_back(r.texts()[i].size() + 1);
    std::vector<Operand> bytes;
    for (const char c : r.texts()[i]) bytes.push_back(Operand::number(static_cast<unsigned char>(c)));
    bytes.push_back(Operand::number(0));
    v.initializer = Operand::vector(std::move(bytes));
    module.items.push_back(std::move(v));
  }
}

std::optional<ir::Variable> print_arguments(const Recorder& r) {
  if (r.print_bytes() == 0) return {};
  ir::Variable v;
  v.space = isa::Space::local;
  v.align = 8;
  v.type = ScalarType::b8;
  v.name = print_buffer;
  v.dims.push_back(std::uint64_t(r.print_bytes()));
  return v;
}

}  // namespace kiln::dsl
