// Forms: what every instruction must look like on its own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/diag/diagnostic.hpp"
#include "ptx/ir/code.hpp"
#include "ptx/isa/ptxas_version.hpp"
#include "ptx/rules/profile.hpp"

namespace kiln::verifier {

/// What may stand in one place of an operand list: the letter of forms.def, how many elements a vector has (0: any),
/// and which numbers may be written there.
struct OperandSlot {
  char letter = 0;
  std::uint32_t count = 0;
  std::int64_t low = INT64_MIN, high = INT64_MAX;
  std::uint64_t step = 1;
  isa::ScalarType type = isa::ScalarType::none;  // of letters that ask for a type
  std::uint32_t columns = 0;  // where not 0: how many columns of the tile an element stands for, so that N says `count`

  bool takes(std::int64_t number) const {
    return number >= low && number <= high && (std::uint64_t(number) - std::uint64_t(low)) % step == 0;
  }
};

/// One legal list of operands; `letters` are those of its slots.
struct OperandList {
  std::string letters{};
  std::vector<OperandSlot> slots{};
};

/// One row of forms.def, taken apart.
struct Form {
  struct Slot {
    std::string_view words{};  // with | between them
    bool optional = false;
    bool first = false;  // must come before every other modifier

    bool has(std::string_view modifier) const;
    std::vector<std::string_view> alternatives() const;
  };
  std::vector<Slot> slots{};
  std::vector<OperandList> operands{};
};

/// The forms of an opcode; none when forms.def does not have it.
std::span<const Form> find_forms(isa::Opcode);

/// The slot as it is for one instruction: with the type, or the number of elements, that its modifiers ask for.
OperandSlot sized(const OperandSlot&, const ir::Operation&);
/// What an operand slot of forms.def stands for, in words.
std::string describe(const OperandSlot&);
/// Whether an operand may stand in a slot of an instruction. Operands that were never declared fit everywhere: they
/// have been reported.
bool fits(const ir::Code&, const ir::Operation&, const OperandSlot&, const ir::Argument&);

/// Reports modifiers of a tcgen05 instruction that do not go together, each legal by itself; true when there are none.
bool check_tcgen05_modifiers(const ir::Code&, const ir::Operation&, rules::Profile, diag::Sink&);
/// Whether a tcgen05 instruction with these modifiers takes this operand list, given by its letters.
bool tcgen05_takes(const ir::Operation&, std::string_view letters);
/// Reports operands whose value or number does not go with the modifiers; true when there are none.
bool check_tcgen05_values(const ir::Code&, const ir::Operation&, std::string_view letters, diag::Sink&);

/// Reports what does not go together in spcompress and spdecompress; true when there is nothing, or for another opcode.
bool check_compression(const ir::Code&, const ir::Operation&, diag::Sink&);

/// Which parts of its registers a video instruction may name. Says what is wrong; false when something is.
bool check_video(const ir::Code&, const ir::Operation&, diag::Sink&);

/// Checks modifiers and operands of every instruction that forms.def knows. Unknown opcodes, and modifiers that neither
/// forms.def nor the modifier tables know, become `incomplete` findings, one for each spelling. Returns which
/// operations are malformed: other checks must skip those.
std::vector<bool> check_forms(const ir::Code&, diag::Sink&, rules::Profile = rules::Profile::isa);

/// Reports instructions that PTX has and versions of ptxas refuse, or do not survive: as errors where the one that is
/// asked about does. Where none is, what later versions refuse is a portability finding, and an internal error a note.
/// `malformed`: what check_forms returned.
void check_ptxas_versions(const ir::Code&, const std::vector<bool>& malformed, std::optional<isa::PtxasVersion>,
                          diag::Sink&);

/// A form that some versions of ptxas take from a later `.version` on than others; nothing for other instructions.
struct NewerForm {
  isa::PtxVersion version{};  // from which on all of them do
  std::string_view what{};
};
std::optional<NewerForm> form_of_newer_version(const ir::Code&, const ir::Operation&);

/// Reports a .version and a .target that a version of ptxas does not know.
void check_ptxas_version(const ir::Module&, isa::PtxasVersion, diag::Sink&);

}  // namespace kiln::verifier
