// What a user says of a launch that no contract describes: --assume.
#pragma once

#include <string>
#include <vector>

#include "verifier/explore.hpp"

namespace kiln::command {

/// What may stand after --assume, for people.
extern const char* const assume_words;

/// Reads facts like block=256, cluster=2x1, grid=8x8, smem=65536 and param2=4096. Throws diag::InputError for a text
/// that is none of these, and for a launch that no device accepts.
verifier::LaunchFacts read_facts(const std::vector<std::string>& assumed);

}  // namespace kiln::command
