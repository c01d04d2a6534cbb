// Which functions of a module call which, and with what threads.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "verifier/facts.hpp"

namespace kiln::verifier {

/// The calls of a module. Of calls from elsewhere, or by a function's address, nothing is known.
class Callers {
 public:
  explicit Callers(const ir::Module&);

  /// Functions with a body, each after those that call it, as far as the text allows.
  const std::vector<const ir::Function*>& order() const { return order_; }
  /// How threads come to a function by the calls that were noted; without any, all may come or some of them.
  std::vector<Entrance> entrances(const Facts&) const;
  /// The calls that a function makes.
  void note(const Facts&);

 private:
  std::vector<const ir::Function*> order_{};
  std::map<std::string, std::vector<Entrance>> calls_{};  // by name of the function that is called
};

}  // namespace kiln::verifier
