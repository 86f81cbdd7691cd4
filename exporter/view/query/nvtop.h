// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "view/query/query_fields.h"

namespace igpu::exporter::query {

// One snapshot as nvtop 3.3.2 prints it with -s: an array of GPUs, whose values are strings with their units, or null.
// Intel's video engines both encode and decode, so there is encode_decode in place of encode and decode.
void write_nvtop(std::span<const Row> rows, std::string& out);

}  // namespace igpu::exporter::query
