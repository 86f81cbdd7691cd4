// SPDX-License-Identifier: Apache-2.0
#include "format/gzip.h"

#include <zlib.h>

#include <limits>
#include <new>
#include <stdexcept>

namespace igpu::exporter {

struct Gzip::State {
  z_stream stream{};
};

Gzip::Gzip() : state_(std::make_unique<State>()) {
  constexpr int kLevel = 1;
  constexpr int kGzipWrapper = 16;
  constexpr int kMemoryLevel = 8;
  if (deflateInit2(&state_->stream, kLevel, Z_DEFLATED, MAX_WBITS + kGzipWrapper, kMemoryLevel, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    throw std::bad_alloc();
  }
}

Gzip::~Gzip() { deflateEnd(&state_->stream); }

void Gzip::compress(std::string_view text, std::string& out) {
  if (text.size() > std::numeric_limits<uInt>::max() / 2) throw std::length_error("text too long to compress");
  z_stream& stream = state_->stream;
  deflateReset(&stream);
  out.resize(deflateBound(&stream, text.size()));  // space for the worst case: one call is enough
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // zlib does not write to it
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) throw std::runtime_error("compression failed");
  out.resize(out.size() - stream.avail_out);
}

}  // namespace igpu::exporter
