#include "dsl/launch.hpp"

#include "ptx/diag/error.hpp"

namespace kiln::dsl {

launch::TensorMap tensor_map(const GlobalTensor& t, ScalarType type, bool k_inner, int box_inner, int box_outer,
                             isa::Swizzle swizzle) {
  launch::TensorMap m;
  m.buffer = t.buffer;
  m.dtype = type;
  m.dims = {k_inner ? t.k : t.mn, k_inner ? t.mn : t.k, 1, 1, 1};
  m.strides[1] = m.dims[0] * std::uint64_t(isa::bits(type)) / 8;
  m.box = {std::uint32_t(box_inner), std::uint32_t(box_outer), 1, 1, 1};
  m.swizzle = swizzle;
  return m;
}

launch::TensorMap tensor_map_3d(const launch::TensorMap& flat, int spans) {
  launch::TensorMap m = flat;
  const std::uint64_t span = flat.box[0], span_bytes = span * std::uint64_t(isa::bits(flat.dtype)) / 8;
  if (flat.dims[0] % span != 0)
    throw diag::InputError("buffer '" + flat.buffer + "': rows of " + std::to_string(flat.dims[0]) +
                           " elements are not a multiple of the " + std::to_string(span) +
                           " that the kernel's three-dimensional tensor map needs");
  m.rank = 3;
  m.dims = {span, flat.dims[1], flat.dims[0] / span, 1, 1};
  m.strides[1] = flat.strides[1];
  m.strides[2] = span_bytes;
  m.box[2] = std::uint32_t(spans);
  return m;
}

}  // namespace kiln::dsl
