// SPDX-License-Identifier: Apache-2.0
#include "view/format/gzip.h"

#include <libdeflate.h>

#include <new>
#include <stdexcept>

namespace igpu::exporter {

Gzip::Gzip() : compressor_(libdeflate_alloc_compressor(1), libdeflate_free_compressor) {
  if (!compressor_) throw std::bad_alloc();
}

void Gzip::compress(std::string_view text, std::string& out) {
  out.resize(libdeflate_gzip_compress_bound(compressor_.get(), text.size()));  // space for the worst case
  const std::size_t size =
      libdeflate_gzip_compress(compressor_.get(), text.data(), text.size(), out.data(), out.size());
  if (size == 0) throw std::runtime_error("compression failed");
  out.resize(size);
}

}  // namespace igpu::exporter
