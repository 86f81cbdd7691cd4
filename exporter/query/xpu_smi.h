// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "query/output.h"

// What xpu-smi 2.x prints for --query-gpu. Its names, groups of names and aliases are known, and those of nvidia-smi
// that mean the same. A field that has no source in the kernel is N/A.
namespace igpu::exporter::query {

struct XpuField;

// Names, groups (POWER) and their letters (pu), separated by commas, in any case; each field once. Throws
// std::invalid_argument for one that is unknown, with the nearest.
std::vector<const XpuField*> xpu_fields(std::string_view names);
// Every field with its unit, for --query-gpu without names.
std::string xpu_field_list();

void write_xpu_header(std::span<const XpuField* const> fields, const CsvStyle& style, std::string& out);
void write_xpu_csv(std::span<const XpuField* const> fields, std::span<const Row> rows, std::string& out);

}  // namespace igpu::exporter::query
