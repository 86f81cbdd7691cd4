// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "top/canvas.h"
#include "top/history.h"
#include "top/host_frame.h"
#include "top/screen.h"
#include "top/view_state.h"

namespace igpu::exporter::top {

inline constexpr int kChartRows = 5;  // the lowest: a title and four rows

// Draws how busy the classes of each GPU were over view.span, in rows y to y + rows - 1: side by side, and below each
// other where the width or the number of GPUs asks for it. GPUs for which no chart fits are left out.
// Returns the rows that were taken.
int draw_charts(Canvas& canvas, const Frame& frame, const History& history, const ViewState& view,
                const ScreenContext& context, int y, int rows);

}  // namespace igpu::exporter::top
