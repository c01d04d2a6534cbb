#include "launch/contract.hpp"

#include <algorithm>

#include "ptx/diag/error.hpp"

namespace kiln::launch {

Param::Param() = default;
Param::Param(Value v) : value(std::move(v)) {}
Param::Param(const Param&) = default;
Param::Param(Param&&) noexcept = default;
Param& Param::operator=(const Param&) = default;
Param& Param::operator=(Param&&) noexcept = default;
Param::~Param() = default;

Contract::Contract() = default;
Contract::Contract(const Contract&) = default;
Contract::Contract(Contract&&) noexcept = default;
Contract& Contract::operator=(const Contract&) = default;
Contract& Contract::operator=(Contract&&) noexcept = default;
Contract::~Contract() = default;

std::uint64_t Buffer::elements() const {
  std::uint64_t n = 1;
  for (std::uint64_t extent : shape) n *= extent;
  return n;
}

std::uint64_t Buffer::size() const { return (elements() * std::uint64_t(isa::bits(dtype)) + 7) / 8; }

Buffer* Contract::find(const std::string& buffer) {
  const auto found = std::find_if(buffers.begin(), buffers.end(), [&](const Buffer& b) { return b.name == buffer; });
  return found == buffers.end() ? nullptr : &*found;
}

const Buffer* Contract::find(const std::string& buffer) const { return const_cast<Contract*>(this)->find(buffer); }

Buffer& Contract::at(const std::string& buffer) {
  if (Buffer* b = find(buffer)) return *b;
  throw diag::InputError("there is no buffer " + buffer);
}

const Buffer& Contract::at(const std::string& buffer) const { return const_cast<Contract*>(this)->at(buffer); }

std::uint64_t TensorMap::end() const {
  using Wide = unsigned __int128;
  Wide bytes = Wide(offset) + (Wide(dims[0]) * unsigned(isa::bits(dtype)) + 7) / 8;
  for (std::size_t i = 1; i < std::size_t(rank); ++i)
    if (dims[i] != 0) bytes += Wide(dims[i] - 1) * strides[i];
  return bytes >> 64 ? ~std::uint64_t{0} : std::uint64_t(bytes);
}

std::uint64_t TensorMap::box_bytes() const {
  if (im2col) return std::uint64_t(im2col->channels) * im2col->column() * std::uint64_t(isa::bits(dtype)) / 8;
  std::uint64_t elements = 1;
  for (int i = 0; i < rank; ++i)
    elements *= (box[std::size_t(i)] + element_strides[std::size_t(i)] - 1) / element_strides[std::size_t(i)];
  return elements * std::uint64_t(isa::bits(dtype)) / 8;
}

std::uint32_t TensorMap::shared_row_bytes() const {
  const std::uint32_t inner =
      (im2col ? im2col->channels : box[0]) * (is_padded() ? 8u : std::uint32_t(isa::bits(dtype))) / 8;
  const auto span = std::uint32_t(isa::span_bytes(swizzle));
  return swizzle != isa::Swizzle::none && inner < span ? span : inner;
}

}  // namespace kiln::launch
