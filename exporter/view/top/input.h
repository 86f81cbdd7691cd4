// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "view/top/host_frame.h"
#include "view/top/screen.h"

namespace igpu::exporter::top {

enum class Key {
  character,
  enter,
  escape,
  backspace,
  tab,
  back_tab,
  up,
  down,
  left,
  right,
  page_up,
  page_down,
  home,
  end,
  function,
  click,
  wheel_up,
  wheel_down,
  resize,
};

struct Input {
  Key key = Key::character;
  char32_t character = 0;  // for Key::character
  int number = 0;          // for Key::function
  int x = 0, y = 0;        // for events of the mouse
};

enum class Reaction { draw, quit, redraw_all, faster, slower };

// Applies a key to the view. screen: the last drawing.
Reaction react(ViewState& view, const Input& input, const Screen& screen, const Frame& frame);

}  // namespace igpu::exporter::top
