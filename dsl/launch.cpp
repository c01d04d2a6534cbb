#include "dsl/launch.hpp"

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

}  // namespace kiln::dsl
