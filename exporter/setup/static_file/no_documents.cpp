// SPDX-License-Identifier: Apache-2.0
//
// For the program from which the documents are made.
#include "setup/static_file/documents.h"

namespace igpu::exporter {

std::string document(std::string_view) { return {}; }

}  // namespace igpu::exporter
