// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct libdeflate_compressor;

namespace igpu::exporter {

// A reusable gzip compressor for whole texts: its state is allocated once. One thread at a time. Level 1: higher levels
// take at least 1.5 times as long for an output that is a few percent smaller.
class Gzip {
 public:
  Gzip();  // throws std::bad_alloc

  // Replaces out with the compressed text; reuse the string between calls.
  void compress(std::string_view text, std::string& out);

 private:
  std::unique_ptr<libdeflate_compressor, void (*)(libdeflate_compressor*)> compressor_;
};

}  // namespace igpu::exporter
