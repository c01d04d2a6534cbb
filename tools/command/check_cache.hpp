// What texts were found to be before: kept by content, so that a tree is judged anew where it has changed.
#pragma once

#include <string>

#include "tools/command/judge.hpp"

namespace kiln::command {

/// Where commands keep what they found: $KILN_CACHE, else $XDG_CACHE_HOME/kiln, else ~/.cache/kiln; empty if none is
/// set.
std::string cache_folder();

/// Judgements in a folder of the user, one file each. A key is the text, the options and the program that judges, so
/// nothing here goes out of date; the folder may be deleted at any time.
class CheckCache {
 public:
  /// In cache_folder(); nowhere if `is_used` is false or there is none.
  explicit CheckCache(bool is_used);

  /// What judge says of the text, which is judged if it is not known. Kept unless the time that there was decided it,
  /// or it depends on more than the text: a launch, a ptxas. A folder that cannot be written is no error.
  Judgement judge(const diag::SourcePtr&, const JudgeOptions&) const;

 private:
  std::string folder_;   // empty: none
  std::string program_;  // which program judges
};

}  // namespace kiln::command
