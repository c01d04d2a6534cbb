#include "ptx/tile/shared_operand.hpp"

#include <fmt/format.h>

#include "ptx/isa/tcgen05.hpp"

namespace kiln::tile {
namespace {

int members(const isa::MmaForm& f) { return f.group == isa::CtaGroup::two ? 2 : 1; }

}  // namespace

SharedOperand operand_a(const isa::MmaForm& form, const isa::InstructionDescriptorFields& shape,
                        const isa::SharedDescriptorFields& descriptor, isa::Swizzle swizzle) {
  return {descriptor,
          swizzle,
          shape.a_major,
          form.kind,
          isa::operand_type(form.kind, shape.a_type),
          shape.m / members(form),
          isa::a_k_bytes(shape.k96, shape.wide)};
}

SharedOperand operand_b(const isa::MmaForm& form, const isa::InstructionDescriptorFields& shape,
                        const isa::SharedDescriptorFields& descriptor, isa::Swizzle swizzle) {
  return {descriptor,
          swizzle,
          shape.b_major,
          form.kind,
          isa::operand_type(form.kind, shape.b_type),
          shape.n / members(form),
          isa::b_k_bytes(form.sparse, shape.k96, shape.wide)};
}

// K of more than 32 bytes: only an absolute leading dimension says where a swizzled line continues, and the ISA has
// that for K = 96 alone.
std::optional<std::string> undocumented(const SharedOperand& o, const char* name) {
  const isa::SharedDescriptorFields& d = o.descriptor;
  const bool lines = o.major == isa::Major::K && o.swizzle != isa::Swizzle::none;
  if (d.leading_is_absolute) {
    const bool known =
        lines && o.swizzle == isa::Swizzle::b128 && d.base_offset == 0 && o.k_bytes == isa::a_k_bytes(true);
    if (known) return std::nullopt;
    return "an absolute leading dimension on other than a K-major operand of K = 96 with the 128-byte swizzle";
  }
  const int span = isa::span_bytes(o.swizzle);
  if (lines && o.k_bytes > isa::mma_k_bytes && int(d.start) % span + o.k_bytes > span)
    return fmt::format("{} bytes along K of operand {} that run past a line of its {} swizzle", o.k_bytes, name,
                       isa::spelling(o.swizzle));
  return std::nullopt;
}

}  // namespace kiln::tile
