// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "view/top/canvas.h"
#include "view/top/host_frame.h"
#include "view/top/screen.h"

namespace igpu::exporter::top {

// Of so many free rows those that charts take: one chart for each GPU and NPU that was measured, of a title and at
// least four rows, side by side, and below each other where the width asks for it. In steps, so that not every process
// that begins changes their height. 0: no chart fits, or none is wanted.
int chart_rows(const Frame& frame, const History& history, const ViewState& view, int width, int free);

// Draws how busy the classes of each GPU were over view.span into as many rows. GPUs for which no chart fits are left
// out.
void draw_charts(Canvas& canvas, const Frame& frame, const History& history, const ViewState& view,
                 const ScreenContext& context, int y, int rows);

}  // namespace igpu::exporter::top
