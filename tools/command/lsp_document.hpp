// A text that an editor has open: places as the protocol counts them, and what was found as the protocol says it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/command/judge.hpp"

namespace kiln::command {

/// How a client counts columns.
enum class ColumnUnit : unsigned char { utf8, utf16 };

/// A document and what is known of its text.
class LspDocument {
 public:
  LspDocument() = default;
  LspDocument(std::string uri, std::string text, ColumnUnit unit);

  const diag::SourcePtr& source() const { return source_; }
  const diag::Sink& found() const { return found_; }
  void set_found(diag::Sink found) { found_ = std::move(found); }

  /// The byte of a position of the protocol; the last of its line for a column beyond it.
  std::uint32_t offset(const nlohmann::ordered_json& position) const;
  /// A range of the protocol. An empty place is a position.
  nlohmann::ordered_json range(diag::Place) const;

  /// What publishDiagnostics carries.
  nlohmann::ordered_json diagnostics() const;
  /// The repairs of the findings in a range, each as one code action.
  nlohmann::ordered_json code_actions(const nlohmann::ordered_json& range) const;
  /// The other places of the findings at a position: the access on the other side of a race, the allocation that
  /// nothing frees.
  nlohmann::ordered_json other_places(const nlohmann::ordered_json& position) const;

 private:
  nlohmann::ordered_json position(std::uint32_t offset) const;
  nlohmann::ordered_json diagnostic(const diag::Diagnostic&) const;
  nlohmann::ordered_json location(const diag::Where&) const;
  nlohmann::ordered_json related(const diag::Diagnostic&) const;
  bool is_here(const diag::Where& w) const { return w.source && w.source->name() == source_->name(); }

  std::string uri_{};
  ColumnUnit unit_ = ColumnUnit::utf16;
  diag::SourcePtr source_{};
  diag::Sink found_{};
};

/// "/a b" for "file:///a%20b"; other schemes as they are.
std::string path_of_uri(const std::string& uri);

}  // namespace kiln::command
