// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace igpu::exporter {

// A reusable gzip compressor: its state of a quarter of a megabyte is allocated once. One thread at a time.
// Level 1 takes a seventh of the default level's time; the output is a few percent larger.
class Gzip {
 public:
  Gzip();  // std::bad_alloc
  ~Gzip();
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  // Replaces out with the compressed text; reuse the string between calls. Text of 2 GiB and more: std::length_error.
  void compress(std::string_view text, std::string& out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace igpu::exporter
