// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Reads and writes machine archives: a folder tree in one text file that a person can read, edit and compare line by
// line. The format is described in tests/machines/README.md.
namespace igpu::test {

struct ArchiveEntry {
  enum class Kind { directory, file, link };
  Kind kind = Kind::file;
  std::string path;     // relative, "sys/class/drm/card0"
  std::string content;  // of a file, or the target of a link
  // Kept only where it denies reading to other users; otherwise 0644 and 0755 are as good as any.
  std::optional<unsigned> mode;

  bool operator==(const ArchiveEntry&) const = default;
};

using MachineArchive = std::vector<ArchiveEntry>;

// Throws std::runtime_error with the number of the line for text that is not an archive, and for entries that unpacking
// must not create: paths and links that leave the folder, entries below a link or a file, two entries of one path.
MachineArchive parse_archive(std::string_view text);

// Sorted by path. A directory is written down only if it is empty or has a mode of its own: other paths imply it.
std::string format_archive(MachineArchive archive);

// Throws std::runtime_error if the folder holds anything but directories, regular files and links.
MachineArchive read_folder(const std::filesystem::path& folder);

// Replaces files that exist, never writes through a link.
void unpack(const MachineArchive& archive, const std::filesystem::path& folder);

std::string read_file(const std::filesystem::path& path);  // throws std::runtime_error

// The archives of tests/machines by name ("a380-i915"), sorted.
std::vector<std::string> machine_archives();
std::filesystem::path machine_archive_path(std::string_view name);
// Throws std::runtime_error if the archive does not hold the file.
std::string read_archived_file(std::string_view name, std::string_view path);

}  // namespace igpu::test
