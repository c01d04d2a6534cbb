#include "verifier/contract.hpp"

#include <algorithm>

#include "ptx/rules/finding.hpp"
#include "ptx/rules/tma.hpp"
#include "verifier/finding.hpp"

namespace kiln::verifier {
namespace {

using launch::TensorMap;
using rules::Verdict;

class MapCheck {
 public:
  MapCheck(const std::string& name, const TensorMap& map, const launch::Buffer* buffer, diag::Sink& sink)
      : name_(name), map_(map), buffer_(buffer), sink_(sink) {}

  void run() {
    const auto rank = std::size_t(std::clamp(map_.rank, 0, isa::tma_max_rank));
    for (std::size_t i = 0; i < rank; ++i) say(rules::tma_box(map_.box[i]), "box[" + std::to_string(i) + "]");
    const std::uint32_t row = map_.im2col ? map_.im2col->channels : map_.box[0];
    const std::int64_t inner = std::int64_t(row) * isa::bits(map_.dtype) / 8;
    say(rules::tma_inner_bytes(inner), "the inner extent of the box in bytes");
    say(rules::tma_inner_span(map_.swizzle, inner),
        "the inner extent of the box in bytes, with the " + std::string(isa::spelling(map_.swizzle)) + " swizzle");
    for (std::size_t i = 1; i < rank; ++i)
      say(rules::tma_stride(std::int64_t(map_.strides[i])), "the stride of dimension " + std::to_string(i));
    say(rules::tma_stride(std::int64_t(map_.offset)), "the offset into '" + map_.buffer + "'");
    if (buffer_) check_buffer(*buffer_);
  }

 private:
  void check_buffer(const launch::Buffer& buffer) {
    const Verdict reach = rules::tma_reach(map_.end(), buffer.size());
    if (reach.broken())
      broken(sink_, reach, diag::Where{},
             "tensor map '" + name_ + "', which ends at byte " + std::to_string(map_.end()) + " of buffer '" +
                 buffer.name + "' of " + std::to_string(buffer.size()));
    const Verdict type = rules::tma_type(map_.dtype, buffer.dtype);
    if (type.broken())
      broken(sink_, type, diag::Where{},
             "tensor map '" + name_ + "' of " + std::string(isa::spelling(map_.dtype)) + " over buffer '" +
                 buffer.name + "' of " + std::string(isa::spelling(buffer.dtype)));
  }
  void say(const Verdict& v, const std::string& what) {
    if (v.broken())
      broken(sink_, v, diag::Where{}, rules::found(v) + " for " + what + " of tensor map '" + name_ + "'");
  }

  const std::string& name_;
  const TensorMap& map_;
  const launch::Buffer* buffer_;  // null: the contract has none of that name
  diag::Sink& sink_;
};

}  // namespace

void check_contract(const launch::Contract& contract, diag::Sink& sink) {
  for (const auto& [name, map] : contract.tensor_maps) MapCheck(name, map, contract.find(map.buffer), sink).run();
}

}  // namespace kiln::verifier
