// Whole files in and out, and folders that go away by themselves.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::harness {

/// The bytes of a file. Throws InputError naming the file and the reason.
std::vector<std::uint8_t> read_file(const std::string& path);

/// Replaces a file as a whole: readers see the old content or the new one, never half of it. Throws InputError naming
/// the file and the reason.
void write_file(const std::string& path, std::span<const std::uint8_t> bytes);
void write_file(const std::string& path, std::string_view text);

/// Throws InputError, as write_file would, for a path that no file can be written to: before work whose result goes
/// there.
void check_writable(const std::string& path);

/// Makes a folder and those above it. Throws InputError naming it and the reason.
void make_folder(const std::string& path);

/// `path` seen from `folder`; absolute paths and an empty folder leave it as it is.
std::string path_from(const std::string& folder, const std::string& path);

/// A fresh folder under $TMPDIR that is removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

}  // namespace kiln::harness
