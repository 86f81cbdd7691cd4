// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "view/top/host_frame.h"
#include "view/top/screen.h"

using namespace igpu::exporter;
using namespace igpu::exporter::top;

namespace {

// Three processes on two GPUs.
struct View {
  View() {
    frame.hosts = {frame_of(std::string_view(
        "intel_gpu_exporter_devices 2\n"
        "intel_gpu_process_engine_busy_ratio{device=\"a\",pid=\"1\",comm=\"one\",class=\"video\"} 0.3\n"
        "intel_gpu_process_engine_busy_ratio{device=\"a\",pid=\"2\",comm=\"two\",class=\"video\"} 0.2\n"
        "intel_gpu_process_engine_busy_ratio{device=\"b\",pid=\"3\",comm=\"three\",class=\"video\"} 0.1\n"))};
    draw_again();
  }
  void draw_again() { screen = draw(frame, {}, state, {}, {80, 24}); }
  Reaction press(Input input) {
    const Reaction reaction = react(state, input, screen, frame);
    draw_again();
    return reaction;
  }
  Reaction type(char32_t c) { return press({.key = Key::character, .character = c}); }
  std::string selected() const { return state.selected.substr(state.selected.rfind('\n') + 1); }

  Frame frame;
  ViewState state;
  Screen screen{.canvas = Canvas(Size{})};
};

}  // namespace

TEST_SUITE_BEGIN("input");

TEST_CASE("arrows select a row, and stop at both ends") {
  View view;
  view.press({.key = Key::down});
  CHECK(view.selected() == "one");
  view.press({.key = Key::down});
  view.press({.key = Key::down});
  view.press({.key = Key::down});
  CHECK(view.selected() == "three");
  view.press({.key = Key::home});
  CHECK(view.selected() == "one");
  view.press({.key = Key::up});
  CHECK(view.selected() == "one");
  view.press({.key = Key::page_down});
  CHECK(view.selected() == "three");
  view.press({.key = Key::escape});
  CHECK(view.selected().empty());
}

TEST_CASE("the filter takes what is typed, also q, and whole characters are erased") {
  View view;
  view.type(U'/');
  for (const char32_t c : U"tqü") {
    if (c != 0) CHECK(view.type(c) == Reaction::draw);
  }
  CHECK(view.state.filter == "tqü");
  view.press({.key = Key::backspace});
  view.press({.key = Key::backspace});
  CHECK(view.state.filter == "t");
  view.press({.key = Key::enter});
  CHECK_FALSE(view.state.editing_filter);
  CHECK(view.screen.rows.size() == 2);
  view.press({.key = Key::escape});
  CHECK(view.screen.rows.size() == 3);
  CHECK(view.type(U'q') == Reaction::quit);
}

TEST_CASE("Tab goes through the GPUs and back to all") {
  View view;
  view.press({.key = Key::tab});
  CHECK(view.screen.rows.size() == 2);
  view.press({.key = Key::tab});
  CHECK(view.screen.rows.size() == 1);
  view.press({.key = Key::tab});
  CHECK(view.screen.rows.size() == 3);
  view.press({.key = Key::back_tab});
  CHECK(view.screen.rows.size() == 1);
}

TEST_CASE("a click selects a row, a column to sort by, a GPU") {
  View view;
  for (const Region::Kind kind : {Region::Kind::row, Region::Kind::column, Region::Kind::gpu}) {
    const auto found = std::find_if(view.screen.regions.begin(), view.screen.regions.end(),
                                    [&](const Region& region) { return region.kind == kind; });
    REQUIRE(found != view.screen.regions.end());
    view.press({.key = Key::click, .x = found->x, .y = found->y});
  }
  CHECK(view.selected() == "one");
  CHECK(view.state.sort == SortKey::pid);
  CHECK(view.state.focus == GpuPlace{0, 0});
  view.press({.key = Key::click, .x = 500, .y = 500});  // nothing there
}

TEST_CASE("any key closes the help; the sort order goes round") {
  View view;
  view.type(U'?');
  CHECK(view.state.over == Over::help);
  CHECK(view.type(U'q') == Reaction::draw);
  CHECK_FALSE(view.state.over == Over::help);
  for (int i = 0; i < kSortKeys; ++i) view.type(U'>');
  CHECK(view.state.sort == SortKey::busy);
  view.type(U'<');
  CHECK(view.state.sort == SortKey::command);
}

TEST_SUITE_END();
