// A word taken apart: what every field of a descriptor, an address or a mask says, and which rules it breaks.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ptx/diag/diagnostic.hpp"
#include "ptx/isa/mma_form.hpp"
#include "ptx/isa/targets.hpp"
#include "ptx/rules/verdict.hpp"

namespace kiln::command {

/// Fields in the order in which they are printed, and findings without places.
struct Decoded {
  nlohmann::ordered_json fields = nlohmann::ordered_json::object();
  std::vector<diag::Diagnostic> findings{};

  /// Keeps the finding of a broken rule.
  void judge(const rules::Verdict&, const std::string& got = {});
  /// Exit::errors when a finding is an error.
  int exit_code() const;
};

/// "name   value" lines, each after `indent` spaces, then "error: what must hold [slug]" lines.
std::string text(const Decoded&, int indent = 0);
/// The fields with one more, "findings".
nlohmann::ordered_json json(const Decoded&);
/// Findings as JSON: severity, slug, message.
nlohmann::ordered_json json(const std::vector<diag::Diagnostic>&);
/// "error: what must hold; got X [slug]".
std::string line(const diag::Diagnostic&);

/// What is known of the instruction around an instruction descriptor. Without a cta_group and without .ws the form is
/// not known, and the fields that depend on it are not judged.
struct MmaContext {
  isa::MmaForm form{.kind = isa::MmaKind::f16, .group = isa::CtaGroup::none};
  std::optional<isa::Target> target{};

  bool form_is_known() const { return form.ws || form.group != isa::CtaGroup::none; }
};

Decoded decode_instruction_descriptor(std::uint32_t word, const MmaContext&);

/// The operand that a matrix descriptor describes, as far as it is known.
struct OperandContext {
  std::optional<isa::MmaKind> kind{};
  std::optional<isa::Major> major{};
};

Decoded decode_shared_descriptor(std::uint64_t word, const OperandContext& = {});

/// The matrix descriptor of wgmma, which has no version and no absolute offsets.
Decoded decode_wgmma_descriptor(std::uint64_t word);

Decoded decode_tensor_address(std::uint32_t word);

/// M and N of the MMA, with which a mask has a shape; 0: not known. `allowed_shift` is the instruction descriptor's.
struct MaskContext {
  int m = 0, n = 0;
  bool sparse = false;
  std::optional<int> allowed_shift{};
};

Decoded decode_zero_mask(std::uint64_t word, const MaskContext& = {});

}  // namespace kiln::command
