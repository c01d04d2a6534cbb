// Instructions of PTX 9.0 to 9.5 with what ptxas said of each, for every target: what can be asked without ptxas.
#pragma once

#include <string>
#include <vector>

#include "tests/differential/forms_compare.hpp"

namespace kiln::test {

/// The targets for which ptxas was asked.
const std::vector<isa::Target>& targets_of_rows();

/// Instructions that the same targets have from the same .version on.
struct AcceptedRows {
  isa::PtxVersion version{};
  std::vector<isa::Target> targets{};
  std::vector<std::string> instructions{};
};

/// tests/data/forms/newer.txt or withdrawn.txt. Throws std::runtime_error naming a line that cannot be read.
std::vector<AcceptedRows> read_accepted_rows(const std::string& path);
/// Front-coded lines: the number of characters shared with the line before, a space, the rest.
std::vector<std::string> read_refused_rows(const std::string& path);

/// Of every `step`th row whether Kiln takes it: at its version for its targets alone, and for none of them at the
/// version before. The tally counts questions.
Tally ask_accepted(const std::vector<AcceptedRows>&, std::size_t step, Exceptions&);
/// Of every `step`th row that ptxas 13.0 takes and a later one refuses, whether Kiln takes it as 13.0 does, and refuses
/// it as the newest does.
Tally ask_withdrawn(const std::vector<AcceptedRows>&, std::size_t step, Exceptions& oldest, Exceptions& newest);
/// Of every `step`th instruction that ptxas 13.5 refuses for sm_107a at 9.5, whether Kiln does.
Tally ask_refused(const std::vector<std::string>&, std::size_t step, Exceptions&);

/// A row of tests/data/forms/ptxas_versions.txt.
struct VersionsRow {
  isa::Target target{};
  isa::PtxVersion version{};
  std::string answers{};  // of ptxas 13.0 to 13.5: + takes the instruction, - refuses it, ! ends with an internal error
  std::string instruction{};
};
/// Throws std::runtime_error naming a line that cannot be read.
std::vector<VersionsRow> read_versions_rows(const std::string& path);

}  // namespace kiln::test
