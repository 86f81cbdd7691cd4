// SPDX-License-Identifier: Apache-2.0
#include <archive.h>
#include <archive_entry.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "view/capture_file/capture_file.h"

namespace igpu::exporter {
namespace {

using Reader = std::unique_ptr<archive, decltype(&archive_read_free)>;

constexpr std::size_t kShownPathBytes = 80;

// For a message: without control characters, and not longer than a line.
std::string shown(std::string_view path) {
  std::string text(path.substr(0, kShownPathBytes));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  }
  return path.size() > kShownPathBytes ? text + "..." : text;
}

std::string reason(archive* handle) {
  const char* const text = archive_error_string(handle);
  return shown(text == nullptr ? "unknown error" : text);
}

// libarchive's warnings are errors here: an archive that this program wrote has none.
void check(int result, archive* handle, std::string_view what) {
  if (result != ARCHIVE_OK) throw CaptureError(std::string(what) + ": " + reason(handle));
}

std::string_view kind_of(archive_entry* entry) {
  if (archive_entry_hardlink(entry) != nullptr) return "a hard link";
  const auto type = archive_entry_filetype(entry);
  if (type == AE_IFREG) return {};
  if (type == AE_IFLNK) return "a link";
  if (type == AE_IFDIR) return "a directory";
  return type == AE_IFCHR || type == AE_IFBLK ? "a device" : "not a regular file";
}

// Whether no file is where another one needs a folder.
void check_folders(const CaptureFiles& files) {
  for (const auto& [path, content] : files) {
    const std::string folder = path + '/';
    const auto below = files.lower_bound(folder);
    if (below != files.end() && below->first.starts_with(folder))
      throw CaptureError(shown(path) + " in it is a file and a folder");
  }
}

std::string path_of(archive_entry* entry, const ArchiveLimits& limits) {
  const char* const name = archive_entry_pathname(entry);
  const std::string path = name == nullptr ? "" : name;
  if (path.size() > limits.path_bytes) throw CaptureError("a path in it is too long: " + shown(path));
  if (const std::string_view kind = kind_of(entry); !kind.empty())
    throw CaptureError(shown(path) + " in it is " + std::string(kind));
  if (!is_plain_path(path)) throw CaptureError("it holds a path that is not plain: \"" + shown(path) + '"');
  return path;
}

// The announced size is not believed: what arrives is counted.
std::string content_of(archive* reader, const std::string& path, std::size_t most) {
  std::string content;
  std::array<char, 16384> buffer;
  for (;;) {
    const la_ssize_t size = archive_read_data(reader, buffer.data(), buffer.size());
    if (size == 0) return content;
    if (size < 0) throw CaptureError(shown(path) + " in it cannot be read: " + reason(reader));
    if (static_cast<std::size_t>(size) > most - content.size())
      throw CaptureError("it is larger than a capture: " + shown(path) + " exceeds the limit");
    content.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

// libarchive is for reading only: its writer of tar archives would bring those of all other formats into the program.

class Compressor {
 public:
  Compressor() : context_(ZSTD_createCCtx(), &ZSTD_freeCCtx) {
    if (!context_) throw std::bad_alloc();
    (void)check(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1));
  }
  void add(std::string_view bytes) { compress(bytes, ZSTD_e_continue); }
  std::string finish() {
    compress({}, ZSTD_e_end);
    return std::move(out_);
  }

 private:
  static std::size_t check(std::size_t result) {
    if (ZSTD_isError(result) != 0) throw CaptureError(std::string("zstd: ") + ZSTD_getErrorName(result));
    return result;
  }
  void compress(std::string_view bytes, ZSTD_EndDirective what) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    for (bool more = true; more;) {
      std::array<char, 16384> buffer;
      ZSTD_outBuffer out{buffer.data(), buffer.size(), 0};
      const std::size_t left = check(ZSTD_compressStream2(context_.get(), &out, &in, what));
      out_.append(buffer.data(), out.pos);
      more = what == ZSTD_e_end ? left > 0 : in.pos < in.size;
    }
  }

  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context_;
  std::string out_;
};

constexpr std::size_t kBlock = 512;
constexpr std::size_t kNameBytes = 100;

void add_padded(Compressor& out, std::string_view content) {
  out.add(content);
  out.add(std::string((kBlock - content.size() % kBlock) % kBlock, '\0'));
}

void put_octal(std::string& header, std::size_t at, std::size_t digits, std::uint64_t number) {
  for (std::size_t i = digits; i-- > 0; number >>= 3U) header[at + i] = static_cast<char>('0' + (number & 7U));
}

// A header block as POSIX defines it (pax, "ustar Interchange Format").
void add_header(Compressor& out, std::string_view name, char kind, std::size_t size) {
  constexpr std::size_t kMode = 100, kUid = 108, kGid = 116, kSize = 124, kTime = 136, kSum = 148, kKind = 156,
                        kMagic = 257;
  constexpr std::string_view kUstar("ustar\00000", 8);
  std::string header(kBlock, '\0');
  name = name.substr(0, kNameBytes);
  std::copy(name.begin(), name.end(), header.begin());
  put_octal(header, kMode, 7, 0644);
  put_octal(header, kUid, 7, 0);
  put_octal(header, kGid, 7, 0);
  put_octal(header, kSize, 11, size);
  put_octal(header, kTime, 11, 0);
  header[kKind] = kind;
  std::copy(kUstar.begin(), kUstar.end(), header.begin() + kMagic);
  std::uint64_t sum = 8 * std::uint64_t{' '};  // the sum counts its own field as blanks
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put_octal(header, kSum, 6, sum);
  header[kSum + 7] = ' ';
  out.add(header);
}

// A record of an extended header: its length, which counts itself, a name and a value.
std::string record(std::string_view name, std::string_view value) {
  const std::size_t rest = name.size() + value.size() + 3;
  std::size_t length = rest;
  while (length != rest + std::to_string(length).size()) length = rest + std::to_string(length).size();
  return std::to_string(length) + ' ' + std::string(name) + '=' + std::string(value) + '\n';
}

}  // namespace

CaptureFiles read_archive(std::string_view bytes, const ArchiveLimits& limits) {
  const Reader reader(archive_read_new(), &archive_read_free);
  if (!reader) throw std::bad_alloc();
  check(archive_read_support_filter_zstd(reader.get()), reader.get(), "zstd");
  check(archive_read_support_format_tar(reader.get()), reader.get(), "tar");
  check(archive_read_open_memory(reader.get(), bytes.data(), bytes.size()), reader.get(), "not a .tar.zst archive");
  CaptureFiles files;
  std::size_t total = 0;
  for (archive_entry* entry = nullptr;;) {
    const int result = archive_read_next_header(reader.get(), &entry);
    if (result == ARCHIVE_EOF) break;
    check(result, reader.get(), "not a .tar.zst archive");
    if (static_cast<std::size_t>(archive_filter_bytes(reader.get(), 0)) > limits.stream_bytes)
      throw CaptureError("it is larger than a capture: its headers exceed the limit");
    std::string path = path_of(entry, limits);
    if (files.size() >= limits.files) throw CaptureError("it is larger than a capture: too many files");
    if (files.contains(path)) throw CaptureError(shown(path) + " in it is there twice");
    std::string content = content_of(reader.get(), path, std::min(limits.file_bytes, limits.total_bytes - total));
    total += content.size();
    files.emplace(std::move(path), std::move(content));
  }
  check_folders(files);
  return files;
}

std::string write_archive(const CaptureFiles& files) {
  Compressor out;
  for (const auto& [path, content] : files) {
    if (path.size() > kNameBytes) {
      const std::string extended = record("path", path);
      add_header(out, "long-path", 'x', extended.size());
      add_padded(out, extended);
    }
    add_header(out, path, '0', content.size());
    add_padded(out, content);
  }
  out.add(std::string(2 * kBlock, '\0'));
  return out.finish();
}

}  // namespace igpu::exporter
