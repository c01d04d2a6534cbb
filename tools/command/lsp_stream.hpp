// Messages of the language server protocol: JSON with a header that has its length.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace kiln::command {

/// Messages from a file descriptor to another.
class LspStream {
 public:
  LspStream(int from, int to) : from_(from), to_(to) {}

  /// The next message; nothing at the end of the stream. Throws InputError for what is no message.
  std::optional<nlohmann::ordered_json> read();
  void write(const nlohmann::ordered_json& message) const;
  /// A message, or part of one, is there, or comes within the time.
  bool has_more(int milliseconds) const;

 private:
  // False at the end.
  bool fill();

  int from_, to_;
  std::string buffer_{};
};

}  // namespace kiln::command
