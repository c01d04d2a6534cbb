// What Kiln has to say about a kernel: a severity, what must hold, what was found, where, and how to repair it.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/diag/here.hpp"
#include "ptx/diag/source.hpp"

namespace kiln::diag {

/// How bad it is. `error`: wrong even in the practical reading; `portability`: holds on today's hardware, not by PTX;
/// `note`: worth knowing; `incomplete`: Kiln does not model this and therefore cannot say that it is right.
enum class Severity : unsigned char { error, portability, note, incomplete };

std::string_view spelling(Severity);

/// Where something is: a range of a source, and the line of C++ or CUDA that it was compiled from, if known.
struct Where {
  SourcePtr source{};     // may be null: then only `file`/`line` say where
  Place place{};
  std::string file{};     // the C++/CUDA file of the instruction (.loc), or the only place there is
  unsigned line = 0;

  static Where at(SourcePtr source, Place place) { return {std::move(source), place, {}, 0}; }
  static Where at(Here here) { return {nullptr, {}, here.file, here.line}; }
};

/// Replace `place` by `text`; an empty place inserts before it. Those of one finding are one repair.
struct FixIt {
  Place place{};
  std::string text{};
};

/// A second place that explains the first.
struct Note {
  std::string message;
  Where where{};
};

/// One finding. `message` is one sentence in lower case, without a full stop, with the offending value in it.
struct Diagnostic {
  Severity severity = Severity::error;
  std::string slug{};      // the rule's name; empty for syntax errors
  std::string message{};
  Where where{};
  std::vector<FixIt> fixits{};
  std::vector<Note> notes{};
  std::string reference{};  // the PTX ISA section title, or the source of the claim
};

/// An ordered collection of findings with counts; what every check writes into.
class Sink {
 public:
  Diagnostic& report(Diagnostic d);
  /// Convenience: an error at a place of a source.
  Diagnostic& error(SourcePtr source, Place place, std::string message, std::string slug = {});

  const std::vector<Diagnostic>& all() const { return all_; }
  std::size_t count(Severity s) const;
  bool has_errors() const { return count(Severity::error) != 0; }
  bool incomplete() const { return count(Severity::incomplete) != 0; }
  /// Errors first, each part by place in the text; equal places keep the order of reporting.
  void sort();
  void append(Sink other);

 private:
  std::vector<Diagnostic> all_;
};

/// Findings that end what was asked for: thrown by the kernel builder for a kernel that breaks a rule. The command
/// prints the findings and exits 1.
class Rejected : public std::runtime_error {
 public:
  Rejected(const std::string& what, Sink findings) : std::runtime_error(what), findings_(std::move(findings)) {}
  const Sink& findings() const { return findings_; }

 private:
  Sink findings_;
};

/// The command's exit code for what was found: 0 clean, 1 errors, 3 incomplete; an error outranks incomplete. `strict`
/// counts portability findings as errors.
int exit_code(const Sink&, bool strict = false);

}  // namespace kiln::diag
