#include "verifier/contract.hpp"

#include <algorithm>
#include <set>
#include <variant>

#include "ptx/rules/finding.hpp"
#include "ptx/rules/tma.hpp"
#include "verifier/finding.hpp"

namespace kiln::verifier {
namespace {

using launch::TensorMap;
using rules::Verdict;

class MapCheck {
 public:
  /// `at`: where the launch stands that is given the map.
  MapCheck(const std::string& name, const TensorMap& map, const launch::Buffer* buffer, diag::Where at,
           diag::Sink& sink)
      : name_(name), map_(map), buffer_(buffer), at_(std::move(at)), sink_(sink) {}

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
      broken(sink_, reach, at_,
             "tensor map '" + name_ + "', which ends at byte " + std::to_string(map_.end()) + " of buffer '" +
                 buffer.name + "' of " + std::to_string(buffer.size()));
    const Verdict type = rules::tma_type(map_.dtype, buffer.dtype);
    if (type.broken())
      broken(sink_, type, at_,
             "tensor map '" + name_ + "' of " + std::string(isa::spelling(map_.dtype)) + " over buffer '" +
                 buffer.name + "' of " + std::string(isa::spelling(buffer.dtype)));
    check_extents(buffer);
  }
  // A matrix, also one that is seen as spans of its rows.
  void check_extents(const launch::Buffer& buffer) {
    if (buffer.shape.size() != 2 || map_.im2col || map_.offset != 0) return;
    const auto bits = std::uint64_t(isa::bits(map_.dtype));
    const bool has_spans = map_.rank == 3 && map_.strides[2] * 8 == map_.dims[0] * bits;
    if (map_.rank != 2 && !has_spans) return;
    const std::uint64_t inner = map_.dims[0] * (has_spans ? map_.dims[2] : 1);
    if (map_.strides[1] * 8 != inner * bits) return;
    const Verdict v = rules::tma_extents(inner, map_.dims[1], buffer.shape[0], buffer.shape[1]);
    if (v.broken())
      broken(sink_, v, at_,
             "tensor map '" + name_ + "' of " + std::to_string(map_.dims[1]) + " rows of " + std::to_string(inner) +
                 " over buffer '" + buffer.name + "' of " + std::to_string(buffer.shape[0]) + " rows of " +
                 std::to_string(buffer.shape[1]));
  }
  void say(const Verdict& v, const std::string& what) {
    if (v.broken())
      broken(sink_, v, at_, rules::found(v) + " for " + what + " of tensor map '" + name_ + "'");
  }

  const std::string& name_;
  const TensorMap& map_;
  const launch::Buffer* buffer_;  // null: the contract has none of that name
  diag::Where at_;
  diag::Sink& sink_;
};

diag::Where place(const launch::Launch& launch) {
  diag::Where where;
  where.file = launch.at.file, where.line = launch.at.line;
  return where;
}

// f of the parameter, and of the fields that it has.
template <class F>
void each_value(const launch::Param& p, F& f) {
  f(p.value);
  if (const auto* fields = std::get_if<launch::StructParam>(&p.value))
    for (const launch::StructField& field : fields->fields) each_value(field.value, f);
}
template <class F>
void each_value(const launch::Launch& launch, F f) {
  for (const launch::Param& p : launch.params) each_value(p, f);
}

// Where the first launch stands that is given a tensor map.
diag::Where place_of_map(const launch::Contract& contract, const std::string& name) {
  for (const launch::Launch& launch : contract.launches) {
    bool has = false;
    each_value(launch, [&](const launch::Param::Value& v) {
      const auto* map = std::get_if<launch::TensorMapParam>(&v);
      has |= map && map->tensor_map == name;
    });
    if (has) return place(launch);
  }
  return {};
}

void check_pointer(const launch::PointerParam& p, const launch::Buffer& buffer, const diag::Where& at,
                   diag::Sink& sink) {
  const std::string what = "a pointer to " + std::string(isa::spelling(*p.dtype)) + " for buffer '" + buffer.name + "'";
  const Verdict type = rules::pointer_type(*p.dtype, buffer.dtype);
  if (type.broken()) broken(sink, type, at, what + " of " + std::string(isa::spelling(buffer.dtype)));
  const std::uint64_t bytes = buffer.size() - std::min(buffer.size(), p.offset);
  const Verdict elements = rules::pointer_elements(bytes, isa::bits(*p.dtype));
  if (elements.broken()) broken(sink, elements, at, what + " of " + rules::found(elements));
}

// Where a launch is given a buffer through one map alone, and that map is right: the bytes after the map's end, if they
// are a whole row.
void check_unread(const launch::Contract& contract, const std::set<std::string>& wrong_maps, diag::Sink& sink) {
  std::set<std::string> otherwise;
  for (const auto& [name, buffers] : contract.multimems) otherwise.insert(buffers.begin(), buffers.end());
  for (const launch::Launch& launch : contract.launches)
    each_value(launch, [&](const launch::Param::Value& v) {
      if (const auto* p = std::get_if<launch::PointerParam>(&v)) otherwise.insert(p->buffer);
    });
  for (const launch::Buffer& buffer : contract.buffers) {
    const std::pair<const std::string, TensorMap>* only = nullptr;
    std::size_t maps = 0;
    for (const auto& entry : contract.tensor_maps)
      if (entry.second.buffer == buffer.name) only = &entry, ++maps;
    if (maps != 1 || otherwise.contains(buffer.name)) continue;
    if (wrong_maps.contains(only->first) || only->second.rank < 2) continue;
    const TensorMap& map = only->second;
    const std::uint64_t step = *std::max_element(map.strides.begin() + 1, map.strides.begin() + map.rank);
    const std::uint64_t behind = buffer.size() - std::min(buffer.size(), map.end());
    if (step == 0 || behind < step) continue;  // a row's padding
    const Verdict v = rules::tma_unread(behind);
    broken(sink, v, place_of_map(contract, only->first),
           rules::found(v) + " of buffer '" + buffer.name + "' after the end of tensor map '" + only->first + "'");
  }
}

}  // namespace

void check_contract(const launch::Contract& contract, diag::Sink& sink) {
  std::set<std::string> wrong_maps;
  for (const auto& [name, map] : contract.tensor_maps) {
    const std::size_t before = sink.all().size();
    MapCheck(name, map, contract.find(map.buffer), place_of_map(contract, name), sink).run();
    if (sink.all().size() != before) wrong_maps.insert(name);
  }
  for (const launch::Launch& launch : contract.launches)
    each_value(launch, [&](const launch::Param::Value& v) {
      const auto* p = std::get_if<launch::PointerParam>(&v);
      const launch::Buffer* buffer = p && p->dtype ? contract.find(p->buffer) : nullptr;
      if (buffer) check_pointer(*p, *buffer, place(launch), sink);
    });
  check_unread(contract, wrong_maps, sink);
}

}  // namespace kiln::verifier
