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

// Calls f(pointer, its offset) for each pointer of a parameter, and g(tensor map).
template <class F, class G>
void each_reach(const Param& p, std::uint32_t at, const F& f, const G& g) {
  if (const auto* pointer = std::get_if<PointerParam>(&p.value)) f(*pointer, at);
  if (const auto* map = std::get_if<TensorMapParam>(&p.value)) g(*map);
  if (const auto* fields = std::get_if<StructParam>(&p.value))
    for (const StructField& field : fields->fields) each_reach(field.value, at + field.at, f, g);
}

// How many parameters reach each buffer, up to and with a launch.
std::map<std::string, int> reaches(const Contract& contract, const Launch& last) {
  std::map<std::string, int> out;
  const auto reach = [&](const std::string& name) {
    const auto parts = contract.multimems.find(name);
    if (parts == contract.multimems.end()) return void(++out[name]);
    for (const std::string& part : parts->second) ++out[part];
  };
  for (const Launch& l : contract.launches) {
    for (const Param& p : l.params)
      each_reach(
          p, 0, [&](const PointerParam& pointer, std::uint32_t) { reach(pointer.buffer); },
          [&](const TensorMapParam& named) {
            const auto map = contract.tensor_maps.find(named.tensor_map);
            if (map != contract.tensor_maps.end()) reach(map->second.buffer);
          });
    if (&l == &last) break;
  }
  return out;
}

}  // namespace

std::map<std::uint32_t, std::uint8_t> known_bytes(const Param& p) {
  std::map<std::uint32_t, std::uint8_t> out;
  add_known_bytes(p, 0, out);
  return out;
}

std::vector<std::map<std::uint32_t, std::span<const std::uint8_t>>> known_content(const Contract& contract,
                                                                                  const Launch& launch) {
  std::vector<std::map<std::uint32_t, std::span<const std::uint8_t>>> out;
  const std::map<std::string, int> reached = reaches(contract, launch);
  for (const Param& p : launch.params) {
    auto& of_parameter = out.emplace_back();
    each_reach(
        p, 0,
        [&](const PointerParam& pointer, std::uint32_t at) {
          const Buffer* b = contract.find(pointer.buffer);
          if (!b || b->init.kind == Init::Kind::poison || reached.at(pointer.buffer) != 1) return;
          if (pointer.offset >= b->bytes.size()) return;
          of_parameter.emplace(at, std::span(b->bytes).subspan(std::size_t(pointer.offset)));
        },
        [](const TensorMapParam&) {});
  }
  return out;
}

}  // namespace kiln::launch
