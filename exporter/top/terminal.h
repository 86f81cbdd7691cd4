// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "top/canvas.h"
#include "top/input.h"

namespace igpu::exporter::top {

// The full-screen terminal on standard input and output. Its destructor restores what it found; a crash does so, too.
class Terminal {
 public:
  struct Options {
    bool colours = true;  // if the terminal has them
  };
  // Whether this program has a terminal that can move its cursor: else print frames one after another.
  static bool available();
  static std::optional<Size> size();  // of the terminal on standard output

  explicit Terminal(const Options& options);  // throws std::runtime_error
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  bool unicode() const;  // its locale has block characters
  Size fit();            // takes over the terminal's present size
  void paint(const Canvas& canvas);
  void redraw_all();             // something else wrote on the screen
  std::optional<Input> input();  // nothing: no more for now
  void suspend();                // restores the terminal until redraw_all()

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace igpu::exporter::top
