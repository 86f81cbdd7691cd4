// SPDX-License-Identifier: Apache-2.0
#include "support/machine_archive.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>

#include "support/paths.h"
#include "support/utf8.h"

namespace fs = std::filesystem;

namespace igpu::test {

namespace {

using EntryKind = ArchiveEntry::Kind;

constexpr std::string_view kFirstLine = "# machine archive, version 1";
constexpr std::string_view kNameIndent = "  ";
constexpr std::string_view kLineIndent = "    |";
constexpr unsigned kReadableByOthers = 0004;

constexpr const char* kExtension = ".machine";

fs::path machines_folder() { return fs::path(source_folder()) / "tests/machines"; }

// "" for an entry of the root folder.
std::string_view parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// ---- Escapes: the backslash, control characters, bytes that are not UTF-8, and blanks that an editor would strip.

void append_hex(std::string& out, unsigned char byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += "\\x";
  out += kDigits[byte >> 4];
  out += kDigits[byte & 0xf];
}

std::string escaped(std::string_view text, bool is_name) {
  const bool is_utf8 = is_valid_utf8(text);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !is_utf8) ||
               (c == ' ' && (is_name || i + 1 == text.size()))) {
      append_hex(out, byte);
    } else {
      out += c;
    }
  }
  return out;
}

unsigned hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  throw std::runtime_error("\\x needs two digits of 0-9a-f");
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    const std::string_view rest = text.substr(i + 1);
    if (rest.starts_with('\\')) {
      out += '\\';
      i += 1;
    } else if (rest.starts_with('t')) {
      out += '\t';
      i += 1;
    } else if (rest.starts_with('x') && rest.size() >= 3) {
      out += static_cast<char>(hex_digit(rest[1]) << 4 | hex_digit(rest[2]));
      i += 3;
    } else {
      throw std::runtime_error("unknown escape: only \\\\, \\t and \\xHH exist");
    }
  }
  return out;
}

// A line of a file as it is written down, and back. A single backslash at the end: the file has no newline here.
std::string written_line(std::string_view line, bool ends_with_newline) {
  return escaped(line, false) + (ends_with_newline ? "" : "\\");
}

std::string read_line(std::string_view written) {
  const std::size_t last = written.find_last_not_of('\\');
  const std::size_t backslashes = written.size() - (last == std::string_view::npos ? 0 : last + 1);
  if (backslashes % 2 == 1) return unescaped(written.substr(0, written.size() - 1));
  return unescaped(written) + '\n';
}

// ---- What unpacking must not create.

void check_name(std::string_view name) {
  if (name.empty() || name == "." || name == "..") throw std::runtime_error("a name must not be empty, . or ..");
  if (name.find('/') != std::string_view::npos) throw std::runtime_error("a name must not hold a slash");
  if (name.find('\0') != std::string_view::npos) throw std::runtime_error("a name must not hold a NUL byte");
}

void check_directory(std::string_view path) {
  if (path.starts_with('/')) throw std::runtime_error("a path must be relative");
  std::size_t at = 0;
  while (at <= path.size()) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    check_name(path.substr(at, end - at));
    at = end + 1;
  }
}

void check_target(std::string_view link, std::string_view target) {
  if (target.empty()) throw std::runtime_error("a link needs a target");
  if (target.find('\0') != std::string_view::npos) throw std::runtime_error("a target must not hold a NUL byte");
  if (target.starts_with('/')) throw std::runtime_error("a link must be relative");
  auto depth = std::count(link.begin(), link.end(), '/');
  std::size_t at = 0;
  while (at <= target.size()) {
    const std::size_t end = std::min(target.find('/', at), target.size());
    const std::string_view part = target.substr(at, end - at);
    if (part == "..") {
      if (--depth < 0) throw std::runtime_error("the link leads out of the archive");
    } else if (!part.empty() && part != ".") {
      ++depth;
    }
    at = end + 1;
  }
}

class ArchiveParser {
 public:
  explicit ArchiveParser(std::string_view text) : text_(text) {}

  MachineArchive parse() {
    try {
      if (text_.empty() || next() != kFirstLine)
        throw std::runtime_error("the first line must be " + std::string(kFirstLine));
      while (at_ < text_.size()) {
        const std::string_view line = next();
        if (line.starts_with(kLineIndent)) {
          add_line(line.substr(kLineIndent.size()));
        } else if (line.starts_with(kNameIndent)) {
          add_entry(line.substr(kNameIndent.size()));
        } else if (!line.empty()) {
          open_directory(line);
        }
      }
    } catch (const std::runtime_error& error) {
      throw std::runtime_error("line " + std::to_string(number_) + ": " + error.what());
    }
    return std::move(entries_);
  }

 private:
  std::string_view next() {
    ++number_;
    const std::size_t end = text_.find('\n', at_);
    if (end == std::string_view::npos) throw std::runtime_error("the archive is cut off: its last line has no newline");
    const std::string_view line = text_.substr(at_, end - at_);
    at_ = end + 1;
    return line;
  }

  // "sys/class/drm/" or "sys/class/drm/ (0700)"
  void open_directory(std::string_view line) {
    lines_to_ = nullptr;
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string written(line.substr(0, end));
    const std::optional<unsigned> mode = read_mode(line.substr(end));
    if (!written.ends_with('/')) throw std::runtime_error("the path of a directory must end with a slash");
    if (written == "./") {
      if (mode) throw std::runtime_error("the root folder has no mode");
      directory_.clear();
      return;
    }
    directory_ = unescaped(std::string_view(written).substr(0, written.size() - 1));
    check_directory(directory_);
    imply_directory(directory_);
    if (!opened_.insert(directory_).second) throw std::runtime_error("second entry of " + directory_);
    entries_.push_back({EntryKind::directory, directory_, "", mode});
  }

  // "name", "name = value", "name -> target", each with a mode in brackets after the name
  void add_entry(std::string_view line) {
    lines_to_ = nullptr;
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string name = unescaped(line.substr(0, end));
    check_name(name);
    ArchiveEntry entry;
    entry.path = directory_.empty() ? name : directory_ + "/" + name;
    std::string_view rest = line.substr(end);
    if (rest.starts_with(" (")) {
      const std::size_t after = std::min(rest.find(')'), rest.size() - 1) + 1;
      entry.mode = read_mode(rest.substr(0, after));
      rest = rest.substr(after);
    }
    if (rest == " =" || rest.starts_with(" = ")) {
      entry.content = read_line(rest == " =" ? std::string_view() : rest.substr(3));
    } else if (rest.starts_with(" -> ")) {
      entry.kind = EntryKind::link;
      entry.content = unescaped(rest.substr(4));
      if (entry.mode) throw std::runtime_error("a link has no mode");
      check_target(entry.path, entry.content);
    } else if (!rest.empty()) {
      throw std::runtime_error("after the name comes =, -> or nothing");
    }
    if (!kinds_.emplace(entry.path, entry.kind).second) throw std::runtime_error("second entry of " + entry.path);
    const bool has_lines = entry.kind == EntryKind::file && rest.empty();
    entries_.push_back(std::move(entry));
    if (has_lines) lines_to_ = &entries_.back().content;
  }

  void add_line(std::string_view written) {
    if (lines_to_ == nullptr) throw std::runtime_error("this line belongs to no file");
    if (!lines_to_->empty() && !lines_to_->ends_with('\n'))
      throw std::runtime_error("only the last line of a file can be without a newline");
    *lines_to_ += read_line(written);
  }

  static std::optional<unsigned> read_mode(std::string_view text) {
    if (text.empty()) return std::nullopt;
    if (!text.starts_with(" (0") || !text.ends_with(')') || text.size() != 7)
      throw std::runtime_error("a mode looks like (0400)");
    unsigned mode = 0;
    for (const char c : text.substr(3, 3)) {
      if (c < '0' || c > '7') throw std::runtime_error("a mode looks like (0400)");
      mode = mode << 3 | static_cast<unsigned>(c - '0');
    }
    return mode;
  }

  // The path and all above it are directories now, and stay so.
  void imply_directory(std::string_view path) {
    for (; !path.empty(); path = parent_of(path)) {
      const auto [it, added] = kinds_.emplace(std::string(path), EntryKind::directory);
      if (!added && it->second != EntryKind::directory)
        throw std::runtime_error(it->first + " is " + (it->second == EntryKind::link ? "a link" : "a file") +
                                 " and cannot hold entries");
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t number_ = 0;
  std::string directory_;
  std::set<std::string> opened_;
  std::map<std::string, EntryKind> kinds_;
  MachineArchive entries_;
  std::string* lines_to_ = nullptr;  // content of the last entry; set again whenever entries_ grows
};

void format_file(std::string& out, const std::string& content) {
  const auto newlines = std::count(content.begin(), content.end(), '\n');
  const bool complete = content.ends_with('\n');
  if (newlines + (complete ? 0 : 1) == 1 && !content.empty()) {
    const std::string line =
        written_line(std::string_view(content).substr(0, content.size() - (complete ? 1 : 0)), complete);
    out += line.empty() ? " =\n" : " = " + line + "\n";
    return;
  }
  out += '\n';
  for (std::size_t at = 0; at < content.size();) {
    const std::size_t end = content.find('\n', at);
    const bool has_newline = end != std::string::npos;
    const std::string_view line = std::string_view(content).substr(at, has_newline ? end - at : std::string::npos);
    out += std::string(kLineIndent) + written_line(line, has_newline) + "\n";
    at += line.size() + 1;
  }
}

std::string written_mode(const std::optional<unsigned>& mode) {
  if (!mode) return "";
  std::string digits = " (0000)";
  for (int i = 0; i < 3; ++i) digits[static_cast<std::size_t>(5 - i)] = static_cast<char>('0' + (*mode >> (3 * i) & 7));
  return digits;
}

std::string written_directory(const std::string& path) { return path.empty() ? "./" : escaped(path, true) + "/"; }

std::optional<unsigned> mode_worth_keeping(const fs::path& path) {
  const auto mode = static_cast<unsigned>(fs::status(path).permissions()) & 0777;
  return (mode & kReadableByOthers) != 0 ? std::nullopt : std::optional(mode);
}

void refuse_link_above(const fs::path& folder, const std::string& path) {
  for (std::string_view above = parent_of(path); !above.empty(); above = parent_of(above)) {
    if (fs::is_symlink(fs::symlink_status(folder / above)))
      throw std::runtime_error(std::string(above) + " is a link: nothing is written through it");
  }
}

}  // namespace

MachineArchive parse_archive(std::string_view text) { return ArchiveParser(text).parse(); }

std::string format_archive(MachineArchive archive) {
  struct Directory {
    std::optional<unsigned> mode;
    std::vector<const ArchiveEntry*> entries;
    bool has_children = false;
  };
  std::sort(archive.begin(), archive.end(),
            [](const ArchiveEntry& a, const ArchiveEntry& b) { return a.path < b.path; });
  std::map<std::string, Directory> directories;
  for (const ArchiveEntry& entry : archive) {
    if (entry.kind == EntryKind::directory) {
      directories[entry.path].mode = entry.mode;
    } else {
      directories[std::string(parent_of(entry.path))].entries.push_back(&entry);
    }
    for (std::string_view above = parent_of(entry.path); !above.empty(); above = parent_of(above))
      directories[std::string(above)].has_children = true;
  }
  std::string out(kFirstLine);
  out += '\n';
  for (const auto& [path, directory] : directories) {
    if (directory.entries.empty() && directory.has_children && !directory.mode) continue;
    out += "\n" + written_directory(path) + written_mode(directory.mode) + "\n";
    for (const ArchiveEntry* entry : directory.entries) {
      out += std::string(kNameIndent) + escaped(name_of(entry->path), true) + written_mode(entry->mode);
      if (entry->kind == EntryKind::link) {
        out += " -> " + escaped(entry->content, false) + "\n";
      } else {
        format_file(out, entry->content);
      }
    }
  }
  return out;
}

MachineArchive read_folder(const fs::path& folder) {
  MachineArchive archive;
  for (const auto& found : fs::recursive_directory_iterator(folder)) {
    const fs::path& path = found.path();
    ArchiveEntry entry;
    entry.path = path.lexically_relative(folder).string();
    if (found.is_symlink()) {
      entry.kind = EntryKind::link;
      entry.content = fs::read_symlink(path).string();
    } else if (found.is_directory()) {
      entry.kind = EntryKind::directory;
      entry.mode = mode_worth_keeping(path);
    } else if (found.is_regular_file()) {
      entry.content = read_file(path);
      entry.mode = mode_worth_keeping(path);
    } else {
      throw std::runtime_error(path.string() + " is neither a file nor a directory nor a link");
    }
    archive.push_back(std::move(entry));
  }
  return archive;
}

void unpack(const MachineArchive& archive, const fs::path& folder) {
  for (const ArchiveEntry& entry : archive) {
    const fs::path path = folder / entry.path;
    refuse_link_above(folder, entry.path);
    if (entry.kind == EntryKind::directory) {
      fs::create_directories(path);
      continue;
    }
    fs::create_directories(path.parent_path());
    fs::remove(path);  // a link that is there would be followed
    if (entry.kind == EntryKind::link) {
      fs::create_symlink(entry.content, path);
      continue;
    }
    std::ofstream file(path, std::ios::binary);
    file << entry.content;
    file.close();
    if (!file) throw std::runtime_error("cannot write " + path.string());
    if (entry.mode) fs::permissions(path, fs::perms(*entry.mode));
  }
  // Last, since a directory's mode may forbid to write into it.
  for (const ArchiveEntry& entry : archive) {
    if (entry.kind == EntryKind::directory && entry.mode) fs::permissions(folder / entry.path, fs::perms(*entry.mode));
  }
}

std::string read_file(const fs::path& path) {
  // Not a stream: files of sysfs fail on read, and a stream would show that as an empty file.
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (file == nullptr) throw std::runtime_error("cannot open " + path.string() + ": " + std::strerror(errno));
  std::string content;
  std::array<char, 4096> buffer;
  while (const std::size_t size = std::fread(buffer.data(), 1, buffer.size(), file.get()))
    content.append(buffer.data(), size);
  if (std::ferror(file.get()) != 0)
    throw std::runtime_error("cannot read " + path.string() + ": " + std::strerror(errno));
  return content;
}

std::vector<std::string> machine_archives() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(machines_folder())) {
    if (entry.path().extension() == kExtension) names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

fs::path machine_archive_path(std::string_view name) { return machines_folder() / (std::string(name) + kExtension); }

std::string read_archived_file(std::string_view name, std::string_view path) {
  for (const ArchiveEntry& entry : parse_archive(read_file(machine_archive_path(name)))) {
    if (entry.kind == EntryKind::file && entry.path == path) return entry.content;
  }
  throw std::runtime_error(std::string(name) + " has no " + std::string(path));
}

}  // namespace igpu::test
