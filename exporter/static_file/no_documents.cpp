// SPDX-License-Identifier: Apache-2.0
//
// For the program from which the documents are made.
#include "static_file/documents.h"

namespace igpu::exporter {

std::span<const Document> documents() { return {}; }

}  // namespace igpu::exporter
