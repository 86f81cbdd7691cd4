// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "view/top/canvas.h"
#include "view/top/host_frame.h"

namespace igpu::exporter::top {

// What a drawing shows in addition to the frame.
struct ScreenContext {
  std::string clock;                  // "14:05:09"
  std::string interval;               // "1 s"
  std::string source;                 // "this machine", "simulation rack", "3 hosts"
  std::vector<std::string> messages;  // the newest of the library, the last at the end
  std::size_t message_count = 0;      // with those that are no longer kept
  bool unicode = true;                // false: only ASCII, also for names and bars
  bool keys = true;                   // false: the screen is printed once, without hints about keys
  // A frame that is older than this at `now` (on the clock of HostFrame::time) is marked as old.
  std::chrono::nanoseconds late_after = std::chrono::nanoseconds::max();
  std::chrono::nanoseconds now{};
};

// A part of the screen that reacts to the mouse.
struct Region {
  enum class Kind { column, row, gpu } kind = Kind::row;
  int x = 0, end = 0, y = 0, bottom = 0;  // end and bottom are excluded
  SortKey sort = SortKey::busy;
  std::string row;
  GpuPlace gpu;
};

struct Screen {
  Canvas canvas;
  std::vector<Region> regions;
  std::vector<std::string> rows;  // keys of all rows of the table, in its order
  int page_rows = 0;              // rows of the table that are visible
  int first_row = 0;              // the first visible row, chosen so that the selected row is visible
  int first_gpu_line = 0, last_first_gpu_line = 0;
};

// Draws everything. Pure: the same arguments give the same cells. height 0: as high as necessary.
Screen draw(const Frame& frame, const History& history, const ViewState& view, const ScreenContext& context, Size size);

// A drawing of the GPUs of all hosts, or of the GPU in focus. Its canvas is as high as necessary.
struct GpuPanel {
  explicit GpuPanel(int width) : canvas(Size{width, 0}) {}
  Canvas canvas;
  std::vector<Region> regions;
};

inline constexpr int kMinEngineCell = 38;
inline constexpr int kRoomyEngineCell = 60;  // with a longer history

GpuPanel draw_gpus(const Frame& frame, const History& history, const ViewState& view, const ScreenContext& context,
                   int width, Detail detail, int min_cell = kMinEngineCell);

// The number of a GPU on the screen: that of its card or, of several hosts, counted over all of them.
std::size_t gpu_number(const Frame& frame, GpuPlace place);

Style class_style(std::size_t index);
std::string class_name(EngineClass engine_class);  // "enhance"

// One line of the table: a process, a workload, or (in the tree) a unit or container with the sums of its processes.
struct TableRow {
  std::string key;     // identifies the row from frame to frame
  std::string branch;  // the lines of the tree, drawn before the command
  bool is_group = false;
  std::size_t number = 0;  // gpu_number()
  bool has_gpu = true;     // false: a group that uses several GPUs
  std::string host, pid, user, command, place;
  std::string whole_command;  // with its arguments; "" if they are not known
  ClassRatios classes;
  std::optional<double> memory, resident, cpu, clients;
  double busy() const;
};

// The rows after the filter, sorted; in the order of the tree if the tree is on.
std::vector<TableRow> table_rows(const Frame& frame, const ViewState& view, bool unicode);

std::string_view sort_name(SortKey key);
bool ascending_by_default(SortKey key);

struct TableArea {
  int top = 0, bottom = 0;  // bottom < 0: as many rows as there are
};
// Draws title and rows, and adds their regions and keys to the screen.
void draw_table(Screen& screen, const Frame& frame, const ViewState& view, const ScreenContext& context,
                TableArea area);

// Of so many free rows those that charts take: one chart for each GPU and NPU that was measured, of a title and at
// least four rows, side by side, and below each other where the width asks for it. In steps, so that not every process
// that begins changes their height. 0: no chart fits, or none is wanted.
int chart_rows(const Frame& frame, const History& history, const ViewState& view, int width, int free);

// Draws how busy the classes of each GPU were over view.span into as many rows. GPUs for which no chart fits are left
// out.
void draw_charts(Canvas& canvas, const Frame& frame, const History& history, const ViewState& view,
                 const ScreenContext& context, int y, int rows);

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
