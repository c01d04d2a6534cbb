// Several variables of one kind in a row, as registers hold them: sums of a row, weights.
#pragma once

#include <utility>
#include <vector>

#include "dsl/registers.hpp"
#include "ptx/rules/dsl.hpp"

namespace kiln::dsl {

/// N variables. An index is a host integer, for registers have no addresses.
template <class V, int N>
class Vars {
 public:
  Vars(Recorder& r, std::vector<Var<V>> all) : rec_(&r), all_(std::move(all)) {}

  Var<V>& operator[](int i) { return all_[place(i, Here::nowhere())]; }
  const Var<V>& operator[](int i) const { return all_[place(i, Here::nowhere())]; }
  // Here only to explain: registers have no addresses.
  template <class I>
    requires(ReadsAsValue<I>)
  KILN_REFUSED(register_index, "registers have no addresses: an index is a host integer, `for (int i = 0; ...)` "
                               "unrolls [dsl-register-index]")
  Var<V>& operator[](const I&) const;
  // Here only to explain: there is no assignment to all of them.
  template <class X>
    requires(!std::is_same_v<X, Vars>)
  KILN_REFUSED(arguments, "variables in a row are assigned one by one: `for (int i = 0; i < N; ++i) row[i] = x` "
                          "[dsl-arguments]")
  Vars& operator=(const X&);
  /// As [], with the line that a wrong index is reported at.
  Var<V>& at(int i, Here here = {}) { return all_[place(i, here)]; }

  /// What `count` of them hold, from `first` on: registers for stores and conversions.
  template <int count>
  auto registers(int first = 0, Here here = {}) const {
    (void)place(first, here), (void)place(first + count - 1, here);
    return make_registers<count>([&](int i) { return all_[place(first + i, here)].read(here); }, here);
  }
  auto registers(Here here = {}) const { return registers<N>(0, here); }

 private:
  // An index that does not exist is reported; another one stands in for it until build() refuses the kernel.
  std::size_t place(int i, Here here) const {
    rec_->require(rules::register_index(i, N), here);
    return i >= 0 && i < N ? std::size_t(i) : 0;
  }
  Recorder* rec_;
  std::vector<Var<V>> all_;
};

}  // namespace kiln::dsl
