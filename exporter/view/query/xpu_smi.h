// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "view/query/query_output.h"

// What xpu-smi 2.4 prints for --query-gpu. Accepts its names, groups and aliases, and equivalent names of nvidia-smi. A
// field without a source in the kernel is N/A.
namespace igpu::exporter::query {

struct XpuField;

// The field that one of these names stands for; "": there is none, or the kernel has no such value.
std::string_view field_of_alias(std::string_view name);
std::vector<std::string> aliases();  // names that stand for a field

// Parses names, groups (POWER) and their letters (pu), separated by commas, in upper or lower case. Each field occurs
// once in the result. Throws std::invalid_argument for an unknown name, with the nearest one.
std::vector<const XpuField*> xpu_fields(std::string_view names);
// Every field with its unit, for --query-gpu without names.
std::string xpu_field_list();

void write_xpu_header(std::span<const XpuField* const> fields, const CsvStyle& style, std::string& out);
void write_xpu_csv(std::span<const XpuField* const> fields, std::span<const Row> rows, std::string& out);

}  // namespace igpu::exporter::query
