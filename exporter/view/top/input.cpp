// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <vector>

#include "text/text.h"
#include "view/top/screen.h"

namespace igpu::exporter::top {
namespace {

constexpr std::size_t kMaxFilterBytes = 100;
constexpr int kWheelRows = 3;

void select(ViewState& view, const Screen& screen, int row) {
  if (screen.rows.empty()) return;
  row = std::clamp(row, 0, static_cast<int>(screen.rows.size()) - 1);
  view.selected = screen.rows[static_cast<std::size_t>(row)];
  view.first_row = screen.first_row;
}

void move(ViewState& view, const Screen& screen, int rows) {
  const auto found = std::ranges::find(screen.rows, view.selected);
  if (found == screen.rows.end()) return select(view, screen, rows > 0 ? screen.first_row : screen.first_row - 1);
  select(view, screen, static_cast<int>(found - screen.rows.begin()) + rows);
}

void scroll(ViewState& view, const Screen& screen, int rows) {
  const int last = std::max(static_cast<int>(screen.rows.size()) - screen.page_rows, 0);
  view.first_row = std::clamp(screen.first_row + rows, 0, last);
  view.selected.clear();
}

void sort_by(ViewState& view, SortKey key) {
  view.reversed = view.sort == key && !view.reversed;
  view.sort = key;
}

Reaction sort_freshly(ViewState& view, SortKey key) {
  view.sort = key;
  view.reversed = false;
  return Reaction::draw;
}

void next_sort(ViewState& view, int step) {
  (void)sort_freshly(view, static_cast<SortKey>((static_cast<int>(view.sort) + step + kSortKeys) % kSortKeys));
}

void next_focus(ViewState& view, const Frame& frame, bool forward) {
  std::vector<GpuPlace> places;
  for (std::size_t h = 0; h < frame.hosts.size(); ++h) {
    for (std::size_t g = 0; g < frame.hosts[h].gpus.size(); ++g) places.push_back({h, g});
  }
  view.selected.clear();
  view.first_row = view.first_gpu_line = 0;
  if (places.empty()) return view.focus.reset();
  if (!view.focus) {
    view.focus = forward ? places.front() : places.back();
    return;
  }
  const auto found = std::ranges::find(places, *view.focus);
  if (forward) {
    if (found == places.end() || found + 1 == places.end()) return view.focus.reset();
    view.focus = *(found + 1);
  } else {
    if (found == places.begin() || found == places.end()) return view.focus.reset();
    view.focus = *(found - 1);
  }
}

void edit_filter(ViewState& view, const Input& input) {
  if (input.key == Key::enter || input.key == Key::escape) view.editing_filter = false;
  if (input.key == Key::escape) view.filter.clear();
  while (input.key == Key::backspace && !view.filter.empty()) {
    const bool whole = (static_cast<unsigned char>(view.filter.back()) & 0xc0U) != 0x80U;
    view.filter.pop_back();
    if (whole) break;
  }
  if (input.key == Key::character && input.character >= U' ' && input.character != 0x7f &&
      view.filter.size() < kMaxFilterBytes)
    append_character(view.filter, input.character);
  view.first_row = 0;
}

void click(ViewState& view, const Input& input, const Screen& screen) {
  for (const Region& region : screen.regions) {
    if (input.x < region.x || input.x >= region.end || input.y < region.y || input.y >= region.bottom) continue;
    switch (region.kind) {
      case Region::Kind::column: return sort_by(view, region.sort);
      case Region::Kind::row:
        view.selected = region.row;
        view.first_row = screen.first_row;
        return;
      case Region::Kind::gpu:
        if (view.focus) {
          view.focus.reset();
        } else {
          view.focus = region.gpu;
        }
        view.first_row = view.first_gpu_line = 0;
        return;
    }
  }
}

Reaction character(ViewState& view, char32_t c, const Frame& frame) {
  constexpr char32_t kCtrlL = 0x0c;
  if (c == U'q' || c == U'Q') return Reaction::quit;
  if (c == U'+' || c == U'=') return Reaction::slower;
  if (c == U'-') return Reaction::faster;
  if (c == kCtrlL) return Reaction::redraw_all;
  if (c == U'?' || c == U'h') view.over = Over::help;
  if (c == U'l') view.over = Over::messages;
  if (c == U'/' || c == U'\\') view.editing_filter = true;
  if (c == U't') view.tree = !view.tree;
  if (c == U'w') {
    view.workloads = !view.workloads;
    view.selected.clear();
    view.first_row = 0;
  }
  if (c == U'd') {
    view.detail = static_cast<Detail>((static_cast<int>(view.detail) + 1) % (frame.hosts.size() > 1 ? 5 : 4));
    view.first_gpu_line = 0;
  }
  if (c == U'z') {
    constexpr std::array<int, 4> kSpans{1, 5, 15, 0};
    const auto now = std::ranges::find(kSpans, view.span.count()) - kSpans.begin();
    view.span = std::chrono::minutes(kSpans[static_cast<std::size_t>(now + 1) % kSpans.size()]);
  }
  if (c == U'<' || c == U',') next_sort(view, -1);
  if (c == U'>' || c == U'.') next_sort(view, 1);
  if (c == U'r' || c == U'I') view.reversed = !view.reversed;
  if (c == U'P') return sort_freshly(view, SortKey::busy);
  if (c == U'M') return sort_freshly(view, SortKey::memory);
  if (c == U'T') return sort_freshly(view, SortKey::cpu);
  if (c == U'N') return sort_freshly(view, SortKey::pid);
  if (c == U'p' || c == U' ') view.paused = !view.paused;
  if (c == U'g') next_focus(view, frame, true);
  return Reaction::draw;
}

Reaction function_key(ViewState& view, int number) {
  if (number == 1) view.over = Over::help;
  if (number == 3 || number == 4) view.editing_filter = true;
  if (number == 5) view.tree = !view.tree;
  if (number == 6) next_sort(view, 1);
  return number == 10 ? Reaction::quit : Reaction::draw;
}

}  // namespace

Reaction react(ViewState& view, const Input& input, const Screen& screen, const Frame& frame) {
  if (input.key == Key::resize) return Reaction::redraw_all;
  if (view.over != Over::nothing) {
    view.over = Over::nothing;
    return input.key == Key::function && input.number == 10 ? Reaction::quit : Reaction::draw;
  }
  if (view.editing_filter) {
    edit_filter(view, input);
    return Reaction::draw;
  }
  const Key key = input.key;
  if (key == Key::character) return character(view, input.character, frame);
  if (key == Key::function) return function_key(view, input.number);
  if (key == Key::enter && !view.selected.empty()) view.over = Over::process;
  if (key == Key::escape) {
    view.focus.reset();
    view.selected.clear();
    view.filter.clear();
  }
  if (key == Key::tab || key == Key::back_tab) next_focus(view, frame, key == Key::tab);
  if (key == Key::up) move(view, screen, -1);
  if (key == Key::down) move(view, screen, 1);
  if (key == Key::page_up) move(view, screen, -std::max(screen.page_rows, 1));
  if (key == Key::page_down) move(view, screen, std::max(screen.page_rows, 1));
  if (key == Key::home) select(view, screen, 0);
  if (key == Key::end) select(view, screen, static_cast<int>(screen.rows.size()) - 1);
  if (key == Key::left) view.first_gpu_line = std::max(screen.first_gpu_line - kWheelRows, 0);
  if (key == Key::right) view.first_gpu_line = std::min(screen.first_gpu_line + kWheelRows, screen.last_first_gpu_line);
  if (key == Key::wheel_up) scroll(view, screen, -kWheelRows);
  if (key == Key::wheel_down) scroll(view, screen, kWheelRows);
  if (key == Key::click) click(view, input, screen);
  return Reaction::draw;
}

}  // namespace igpu::exporter::top
