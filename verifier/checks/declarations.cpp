// What stands at the scope of the module: where variables may be, and what they begin with. PTX ISA "State Spaces" and
// "Initializers"; measured with ptxas 13.0 and 13.5.
#include <algorithm>
#include <unordered_map>

#include "ptx/isa/spaces.hpp"
#include "ptx/isa/targets.hpp"
#include "verifier/checks/checks.hpp"

namespace kiln::verifier {
namespace {

class Declarations {
 public:
  Declarations(const ir::Module& module, diag::Sink& sink) : module_(module), sink_(sink) {}

  // An initial value may name what stands before it.
  void check() {
    const auto target = module_.target();
    if (module_.address_size == 32 && target && target->sm >= 90)
      say(module_.target_at, "addresses of .target " + isa::spelling(*target) + " have 64 bits; got .address_size 32",
          "address-size");
    for (const ir::Item& item : module_.items) {
      if (const auto* f = std::get_if<ir::Function>(&item)) functions_.emplace(f->name, f);
      const auto* v = std::get_if<ir::Variable>(&item);
      if (!v) continue;
      check(*v);
      variables_.emplace(v->name, v);
    }
  }

 private:
  using Kind = ir::Operand::Kind;

  void say(diag::Place at, std::string message, const char* slug) {
    sink_.error(module_.source, at, std::move(message), slug);
  }

  void check(const ir::Variable& v) {
    using isa::Space;
    const bool is_inside = v.space == Space::reg || v.space == Space::local || v.space == Space::sreg ||
                           isa::is_parameter(v.space);
    if (is_inside)
      say(v.at, "a variable of the module must be in a space that all functions share; got ." +
                    std::string(isa::spelling(v.space)), "module-scope");
    if (!v.initializer || is_inside) return;
    if (v.space == Space::global || v.space == Space::constant) return check(v, *v.initializer);
    say(v.initializer->at, "a variable with an initial value must be in .global or .const; got ." +
                               std::string(isa::spelling(v.space)), "initial-value");
  }

  void check(const ir::Variable& v, const ir::Operand& o) {
    switch (o.kind) {
      case Kind::vector:
        for (const ir::Operand& item : o.items) check(v, item);
        return;
      case Kind::integer:
      case Kind::real: return check_number(v, o);
      case Kind::name: return check_address(o, false);
      case Kind::function: return check_function(v, o);
      default: return;
    }
  }

  void check_number(const ir::Variable& v, const ir::Operand& o) {
    const bool is_real = o.kind == Kind::real;
    const bool fits = is_real ? !isa::is_integer(v.type) : !isa::is_floating(v.type);
    if (!fits)
      say(o.at, std::string("a variable must begin with a value of its type; got ") +
                    (is_real ? "a floating-point number" : "an integer") + " for ." + std::string(isa::spelling(v.type)),
          "initial-value");
  }

  void check_address(const ir::Operand& o, bool is_generic) {
    if (const auto f = functions_.find(o.text); f != functions_.end() && !is_generic) return;
    const auto found = variables_.find(o.text);
    const bool has_address = found != variables_.end() && (found->second->space == isa::Space::global ||
                                                           found->second->space == isa::Space::constant);
    if (!has_address)
      say(o.at, "an initial value must be the address of a variable before it in .global or .const" +
                    std::string(is_generic ? "" : ", or a function's") + "; got '" + o.text + "'", "initial-value");
  }

  // generic(x), and 0xFF00(x), a byte of an address.
  void check_function(const ir::Variable& v, const ir::Operand& o) {
    const bool is_generic = o.text == "generic", is_mask = o.text.starts_with("0x");
    if (!is_generic && !is_mask)
      return say(o.at, "an initial value is generic(x) or a byte of an address such as 0xFF00(x); got '" + o.text + "'",
                 "initial-value");
    if (is_mask && (!is_byte_mask(o.text) || v.type != isa::ScalarType::u8))
      return say(o.at, "a byte of an address is 0xFF(x), 0xFF00(x) and so on, for a variable of .u8; got " + o.text +
                           " for ." + std::string(isa::spelling(v.type)), "initial-value");
    if (!o.items.empty() && o.items[0].kind == Kind::name) check_address(o.items[0], is_generic);
  }

  // FF, and an even number of zeros after it.
  static bool is_byte_mask(std::string_view mask) {
    const std::string_view digits = mask.substr(2);
    return digits.size() % 2 == 0 && digits.size() <= 16 && (digits.starts_with("FF") || digits.starts_with("ff")) &&
           digits.find_first_not_of('0', 2) == digits.npos;
  }

  const ir::Module& module_;
  diag::Sink& sink_;
  std::unordered_map<std::string_view, const ir::Variable*> variables_{};
  std::unordered_map<std::string_view, const ir::Function*> functions_{};
};

}  // namespace

void check_declarations(const ir::Module& module, diag::Sink& sink) { Declarations(module, sink).check(); }

}  // namespace kiln::verifier
