// The language server: what a client asks, and the answers.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "tools/command/lsp_document.hpp"
#include "tools/command/lsp_stream.hpp"

namespace kiln::command {

/// Judges the PTX that an editor has open. A document is judged when the client has nothing more to say, in a process
/// of its own: a mistake of Kiln is a diagnostic of it and does not end the server.
class LspServer {
 public:
  LspServer(LspStream stream, JudgeOptions options) : stream_(std::move(stream)), options_(std::move(options)) {}

  /// Serves until the client says exit or goes away. Returns 0 after a shutdown, 1 without, as the protocol asks.
  int serve();

 private:
  using Json = nlohmann::ordered_json;

  void handle(const Json& message);
  Json answer(const std::string& method, const Json& params);
  void take(const std::string& method, const Json& params);
  Json initialize(const Json& params);
  Json hover(const Json& params) const;
  const LspDocument& document(const Json& params) const;
  void judge_changed();
  void publish(const LspDocument&) const;

  LspStream stream_;
  JudgeOptions options_;
  ColumnUnit unit_ = ColumnUnit::utf16;
  std::map<std::string, LspDocument> documents_{};  // by URI
  std::set<std::string> changed_{};
  bool shut_down_ = false, ended_ = false;
};

}  // namespace kiln::command
