// Names with block scope: an inner declaration hides an outer one until its block ends.
#pragma once

#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace kiln::ir {

/// A stack of scopes as one hash table: each name holds its bindings, outermost first. Names are views: their text must
/// outlive the table.
template <class T>
class Scopes {
 public:
  struct Binding {
    int depth;
    T value;
  };

  /// Binds a name in the scope at `depth`; false when that scope has the name already. Bindings of deeper scopes must
  /// not exist.
  bool declare(std::string_view name, int depth, T value) {
    std::vector<Binding>& bindings = names_[name];
    if (!bindings.empty() && bindings.back().depth >= depth) return false;
    bindings.push_back({depth, std::move(value)});
    if (int(undo_.size()) <= depth) undo_.resize(std::size_t(depth) + 1);
    undo_[std::size_t(depth)].push_back(&bindings);
    return true;
  }

  /// The innermost binding; null when there is none.
  Binding* find(std::string_view name) {
    const auto found = names_.find(name);
    return found == names_.end() || found->second.empty() ? nullptr : &found->second.back();
  }

  /// Ends the innermost scope, which is at `depth`.
  void leave(int depth) {
    if (int(undo_.size()) <= depth) return;
    for (std::vector<Binding>* bindings : undo_[std::size_t(depth)]) bindings->pop_back();
    undo_[std::size_t(depth)].clear();
  }

 private:
  std::unordered_map<std::string_view, std::vector<Binding>> names_;
  std::vector<std::vector<std::vector<Binding>*>> undo_;  // by depth; element addresses of a node map are stable
};

}  // namespace kiln::ir
