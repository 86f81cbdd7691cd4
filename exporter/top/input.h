// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "top/screen.h"
#include "top/view_state.h"

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
  char32_t character = 0;  // of character
  int number = 0;          // of function
  int x = 0, y = 0;        // of the mouse
};

enum class Reaction { draw, quit, redraw_all, faster, slower };

// What a key does to the view. screen: as it was drawn last.
Reaction react(ViewState& view, const Input& input, const Screen& screen, const Frame& frame);

}  // namespace igpu::exporter::top
