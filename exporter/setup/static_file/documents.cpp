// SPDX-License-Identifier: Apache-2.0
#include "setup/static_file/documents.h"

#include <zstd.h>

#include <stdexcept>

#include "static_file/embedded/documents.h"

namespace igpu::exporter {

// Each is a byte 1, its name, a line break, and its text (cmake/documents.cmake).
std::string document(std::string_view name) {
  std::string all(kDocumentsSize, '\0');
  const std::size_t size = ::ZSTD_decompress(all.data(), all.size(), kDocuments.data(), kDocuments.size());
  if (::ZSTD_isError(size) != 0) throw std::runtime_error("the documents in this file are damaged");
  const std::string head = '\1' + std::string(name) + '\n';
  const std::size_t start = all.find(head);
  if (start == std::string::npos) return {};
  const std::size_t text = start + head.size();
  return all.substr(text, all.find('\1', text) - text);
}

}  // namespace igpu::exporter
