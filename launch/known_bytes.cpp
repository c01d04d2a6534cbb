#include "launch/known_bytes.hpp"

namespace kiln::launch {
namespace {

void add_known_bytes(const Param& p, std::uint32_t at, std::map<std::uint32_t, std::uint8_t>& out) {
  if (const auto* scalar = std::get_if<ScalarParam>(&p.value))
    for (std::uint32_t k = 0; k < std::uint32_t(isa::bits(scalar->type)) / 8; ++k)
      out[at + k] = std::uint8_t(scalar->bits >> (8 * k));
  if (const auto* bytes = std::get_if<BytesParam>(&p.value))
    for (std::uint32_t k = 0; k < bytes->bytes.size(); ++k) out[at + k] = bytes->bytes[k];
  if (const auto* fields = std::get_if<StructParam>(&p.value))
    for (const StructField& f : fields->fields) add_known_bytes(f.value, at + f.at, out);
}

}  // namespace

std::map<std::uint32_t, std::uint8_t> known_bytes(const Param& p) {
  std::map<std::uint32_t, std::uint8_t> out;
  add_known_bytes(p, 0, out);
  return out;
}

}  // namespace kiln::launch
