// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "view/top/canvas.h"
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

// The terminal on standard input and output in full-screen mode. The destructor restores the previous state; so does a
// crash.
class Terminal {
 public:
  // Whether standard output is a terminal with a movable cursor. If not, print frames one after another.
  static bool available();
  static std::optional<Size> size();  // of the terminal on standard output

  // colours: if the terminal has them. Throws std::runtime_error.
  explicit Terminal(bool colours);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  bool unicode() const;  // whether the locale has block characters
  Size fit();            // adapts to the current size of the terminal
  void paint(const Canvas& canvas);
  void redraw_all();             // also repairs what other programs wrote on the screen
  std::optional<Input> input();  // nullopt: no input is waiting
  void suspend();                // restores the terminal until redraw_all()

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace igpu::exporter::top
