// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "top/canvas.h"

namespace igpu::exporter::top {

// The canvas as lines with colours, for a terminal that scrolls.
std::string ansi_text(const Canvas& canvas);

}  // namespace igpu::exporter::top
