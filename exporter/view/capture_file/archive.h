// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

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

}  // namespace igpu::exporter
