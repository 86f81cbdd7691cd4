// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "view/top/screen.h"

using namespace igpu;
using namespace igpu::exporter::top;
using namespace std::chrono_literals;

namespace {

// A host with so many GPUs whose video engines are so busy.
HostFrame host_with(int gpus, double busy, std::chrono::nanoseconds at) {
  ModelReader reader;
  for (int i = 0; i < gpus; ++i) {
    const std::string device = "0000:0" + std::to_string(i) + ":00.0", card = "card" + std::to_string(i);
    reader.add("intel_gpu_info",
               std::vector<LabelPair>{
                   {"device", device}, {"card", card}, {"driver", "xe"}, {"kind", "discrete"}, {"name", "B580"}},
               1);
    reader.add("intel_gpu_engine_busy_ratio",
               std::vector<LabelPair>{
                   {"device", device}, {"gt", "0"}, {"engine", "vcs0"}, {"class", "video"}, {"source", "pmu"}},
               busy);
  }
  HostFrame host{reader.finish()};
  host.state = HostState::ok;
  host.time = at;
  return host;
}

struct Drawn {
  explicit Drawn(int gpus = 1) : gpus_(gpus) {}
  // One reading a second for so many seconds.
  Drawn& run(int seconds, double busy) {
    for (int i = 0; i < seconds; ++i) {
      now_ += 1s;
      frame_.hosts = {host_with(gpus_, busy, now_)};
      history_.add(0, frame_.hosts.front());
    }
    return *this;
  }
  std::vector<std::string> rows(Size size, bool unicode = true) {
    Canvas canvas(size);
    taken = chart_rows(frame_, history_, view, size.width, size.height);
    if (taken > 0) draw_charts(canvas, frame_, history_, view, {.unicode = unicode}, 0, taken);
    std::vector<std::string> rows;
    for (int y = 0; y < canvas.height(); ++y) rows.push_back(canvas.row_text(y));
    return rows;
  }
  ViewState view;
  int taken = 0;

 private:
  int gpus_;
  std::chrono::nanoseconds now_ = 1h;
  Frame frame_;
  History history_;
};

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

}  // namespace

TEST_SUITE_BEGIN("charts");

TEST_CASE("a chart goes from 0 to 100 %, the newest reading is on the right") {
  // Half a minute idle, half a minute full: the lower row is drawn on the left, the upper one on the right.
  const std::vector<std::string> rows = Drawn().run(30, 0).run(30, 1).rows({44, 5});
  CHECK(rows[0] == "0 busy  video                          1 min");
  CHECK(rows[1] == "100 " + std::string(20, ' ') + "⢸⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉");
  CHECK(rows[4] == "  0 ⢀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣸");
}

TEST_CASE("without Unicode") {
  const std::vector<std::string> rows = Drawn().run(60, 0.5).rows({44, 5}, false);
  CHECK(rows[2] + rows[3] == std::string("    ") + std::string(40, '*'));
}

TEST_CASE("z shows five and fifteen minutes") {
  Drawn drawn;
  drawn.run(120, 0.5);
  const Frame none;
  for (const char* span : {"5 min", "15 min", "", "1 min"}) {
    (void)react(drawn.view, {.key = Key::character, .character = U'z'}, Screen{.canvas = Canvas(Size{})}, none);
    const std::vector<std::string> rows = drawn.rows({84, 5});
    CHECK(rows[0].ends_with(span));
  }
}

TEST_CASE("GPUs are side by side, then below each other, and no chart is lower than four rows") {
  Drawn three(3);
  three.run(60, 0.5);
  CHECK(count(three.rows({120, 5})[0], "busy") == 3);
  CHECK(three.taken == 5);
  const std::vector<std::string> two_lines = three.rows({80, 11});
  CHECK(count(two_lines[0], "busy") == 2);
  CHECK(count(two_lines[5], "busy") == 1);
  CHECK(count(three.rows({80, 9})[0], "busy") == 2);  // the third has no room
  CHECK(three.taken == 8);                            // in steps of three
  (void)three.rows({80, 100});
  CHECK(three.taken == 2 * 50);
  CHECK(three.rows({120, 4})[0].empty());
  CHECK(three.taken == 0);
  CHECK(three.rows({30, 40})[0].starts_with("0 busy"));
}

TEST_CASE("a GPU that was never measured has no chart, and an NPU has one") {
  Frame frame;
  History history;
  const auto taken = [&](bool busy_is_known) {
    ModelReader reader;
    const auto add = [&](std::string_view metric, std::vector<LabelPair> labels, double value) {
      reader.add(metric, labels, value);
    };
    add("intel_gpu_info", {{"device", "0000:03:00.0"}, {"card", "card1"}, {"driver", "xe"}, {"kind", "discrete"}}, 1);
    add("intel_npu_info", {{"device", "0000:00:0b.0"}, {"accel", "accel0"}, {"name", "NPU"}}, 1);
    if (busy_is_known) add("intel_npu_busy_ratio", {{"device", "0000:00:0b.0"}}, 0.5);
    frame.hosts = {HostFrame{reader.finish()}};
    frame.hosts.front().time = 1h;
    history.add(0, frame.hosts.front());
    return chart_rows(frame, history, {}, 80, 5);
  };
  CHECK(taken(false) == 0);
  CHECK(taken(true) == 5);
  Canvas canvas(Size{80, 5});
  draw_charts(canvas, frame, history, {}, {}, 0, 5);
  CHECK(canvas.row_text(0).starts_with("NPU busy   "));
}

TEST_CASE("what was not read is a gap") {
  Drawn drawn;
  drawn.run(10, 0.5);
  const std::string before = drawn.rows({44, 5})[3];
  CHECK(count(before, "⠤") + count(before, "⠒") + count(before, "⣀") + count(before, "⠉") < 10);
}

TEST_SUITE_END();
