#include "lower/plan/passes.hpp"

#include "ptx/isa/shared_descriptor.hpp"

namespace kiln::lower {

Layout layout_of(const Facts& facts, const ir::Argument& descriptor, isa::Major major) {
  const flow::Bits bits = facts.known.of(descriptor, 64);
  const auto field = [&](int at, int width) -> std::optional<std::uint32_t> {
    if (!bits.knows(flow::low_mask(width) << at)) return std::nullopt;
    return std::uint32_t(bits.one >> at & flow::low_mask(width));
  };
  const auto bytes = [&](int at) -> std::optional<std::uint32_t> {
    const auto units = field(at, 14);
    return units ? std::optional(*units * 16) : std::nullopt;
  };
  Layout out{major, std::nullopt, bytes(16), bytes(32), field(49, 3)};
  if (const auto code = field(61, 3)) out.swizzle = isa::descriptor_swizzle(std::uint8_t(*code));
  // Not read: the same for all.
  if (major == isa::Major::K && out.swizzle && *out.swizzle != isa::Swizzle::none) out.leading = 0;
  return out;
}

}  // namespace kiln::lower
