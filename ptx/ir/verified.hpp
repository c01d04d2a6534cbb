// The proof that the verifier has seen a module. Only the verifier makes one, and emit takes nothing else.
#pragma once

#include <utility>

#include "ptx/ir/module.hpp"

namespace kiln::verifier {
class Stamp;  // defined in the verifier; the only maker of Verified
}

namespace kiln::ir {

/// A value that passed the verifier without errors.
template <class T>
class Verified {
 public:
  const T& operator*() const { return value_; }
  const T* operator->() const { return &value_; }

 private:
  friend class kiln::verifier::Stamp;
  explicit Verified(T value) : value_(std::move(value)) {}
  T value_;
};

}  // namespace kiln::ir
