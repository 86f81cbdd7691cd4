// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "cli/options.h"
#include "igpu/capture.h"

namespace igpu::exporter {

// The file of a capture: a tar archive of regular files, compressed with zstd. Anybody may have made it, so the reader
// trusts nothing in it: it extracts into memory only, within limits, and accepts regular files with plain relative
// paths.

struct ArchiveLimits {
  std::size_t files = 200'000;
  std::size_t file_bytes = std::size_t{16} << 20;
  std::size_t total_bytes = std::size_t{256} << 20;   // of all files, extracted
  std::size_t stream_bytes = std::size_t{640} << 20;  // of all that zstd unpacks: files, headers, padding
  std::size_t path_bytes = 1024;
};

// The same files give the same bytes: entries are sorted, without owner and time.
std::string write_archive(const CaptureFiles& files);

// Throws CaptureError for everything that is not an archive of regular files: links, devices, paths that leave the
// archive or are not in their shortest form, two files of one path, a file where another one needs a directory, sizes
// beyond the limits, and content that ends early.
CaptureFiles read_archive(std::string_view bytes, const ArchiveLimits& limits = {});

// A capture on disk.

// Throws std::runtime_error, with one line that names the file, unless it is a capture that --simulate can serve.
std::shared_ptr<const CaptureFiles> load_capture(const std::string& path);

// Throws std::runtime_error where save_capture() would, as far as that is known before.
void check_destination(const std::string& path);
// The file has mode 0600 and is complete when it appears; one that is there is not replaced. Throws std::runtime_error.
void save_capture(const std::string& path, const CaptureFiles& files);

// The content of a capture's file: on Linux an archive (above), on Windows a text
// (view/capture_file/script.h).

extern const std::string_view kCaptureSuffix;  // ".tar.zst"

std::string bytes_of(const CaptureFiles& files);  // throws CaptureError
// Linux reads both. Throws CaptureError.
CaptureFiles files_of(std::string_view bytes);

// Tells the user how to read the file, with commands to copy.
std::string how_to_read(const std::string& path);

std::string system_release();  // "kernel 6.12.5"; "" if unknown

// What `capture` and `doctor --bug` share.

// path: "-" for standard output. Throws UsageError if that is a terminal, std::runtime_error if the file cannot be
// written.
void check_capture_destination(const std::string& command, const std::string& path);

// Takes a capture, writes it, and prints what is in it. kernel_bug: CaptureRequest::kernel_bug. added: more files for
// it. Returns the exit status; throws std::runtime_error.
int write_capture(const Options& options, const std::string& path, bool kernel_bug, const CaptureFiles& added);

}  // namespace igpu::exporter
