// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "view/query/query_fields.h"

namespace igpu::exporter::query {

// One line of JSON for a module of Waybar with return-type json (waybar-custom(5)): text, tooltip, class, percentage.
// text and percentage are the busiest engines of the busiest GPU; the tooltip has a part for each GPU. class is
// unknown, suspended, throttled, high (from 80 %), busy (from 5 %) or idle.
void write_waybar(std::span<const Row> rows, std::string& out);

}  // namespace igpu::exporter::query
