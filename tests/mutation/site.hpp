// The instructions of a kernel in the order of the text, and what stands around each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ptx/ir/module.hpp"

namespace kiln::mutation {

/// What an instruction does to data, as far as the choice of a bug class needs to know.
enum class Effect {
  none,
  store,     // generic, to shared memory
  load,      // generic, from shared memory
  global,    // generic, global memory
  copy_in,   // bulk or TMA, into shared memory
  copy_out,  // bulk or TMA, out of shared memory
  cp_async,
  mma,  // mma and cp: both read shared memory and write tensor memory
  tmem_load,
  tmem_store,
  init,
  alloc,
  dealloc,
  sync,  // anything that orders others
  leave  // ret, exit
};

struct Site {
  const ir::Instruction* instruction = nullptr;
  Effect effect = Effect::none;
  int block = 0;  // instructions of one block with no label between them have the same number
};

/// One kernel, taken apart. The module must outlive it.
class Sites {
 public:
  explicit Sites(const ir::Module& module);

  const std::vector<Site>& all() const { return all_; }
  const std::string& text() const { return text_; }
  std::string text(diag::Place p) const { return text_.substr(p.begin, p.size()); }
  std::string text(const Site& s) const { return text(s.instruction->at); }

  /// The nearest site before or after this one for which the test is true; null when there is none.
  const Site* before(const Site&, const std::function<bool(const Site&)>&) const;
  const Site* after(const Site&, const std::function<bool(const Site&)>&) const;
  /// The nearest effect on data before or after this one.
  Effect data_before(const Site&) const;
  Effect data_behind(const Site&) const;

 private:
  void walk(const std::vector<ir::Statement>&);

  std::string text_;
  std::vector<Site> all_;
  int blocks_ = 0;
};

bool has(const ir::Instruction&, std::string_view modifier);
/// An asynchronous copy of any form whose destination is shared memory.
bool is_copy_in(const ir::Instruction&);

}  // namespace kiln::mutation
