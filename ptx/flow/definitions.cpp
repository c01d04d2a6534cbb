#include "ptx/flow/definitions.hpp"

namespace kiln::flow {

void Definitions::Lists::append(std::span<const std::uint32_t> list) {
  items.insert(items.end(), list.begin(), list.end());
  start.push_back(std::uint32_t(items.size()));
}

Definitions::Lists Definitions::Lists::inverted(std::size_t size) const {
  Lists out;
  out.start.assign(size + 1, 0);
  for (std::uint32_t item : items) ++out.start[item + 1];
  for (std::size_t i = 0; i < size; ++i) out.start[i + 1] += out.start[i];
  out.items.resize(items.size());
  std::vector<std::uint32_t> next(out.start.begin(), out.start.end() - 1);
  for (std::uint32_t list = 0; list + 1 < start.size(); ++list)
    for (std::uint32_t item : of(list)) out.items[next[item]++] = list;
  return out;
}

Definitions::Definitions(const ir::Code& code) : code_(&code) {
  for (const ir::Operation& op : code.operations) {
    written_.append(code.written(op));
    read_.append(code.read(op));
  }
  writers_ = written_.inverted(code.registers.size());
  readers_ = read_.inverted(code.registers.size());
}

const ir::Operation* Definitions::only_writer(ir::RegisterId r) const {
  const auto w = writers(r);
  return w.size() == 1 ? &code_->operations[w[0]] : nullptr;
}

}  // namespace kiln::flow
