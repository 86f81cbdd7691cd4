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
  switch (input.key) {
    case Key::enter:
      view.editing_filter = false;
      break;
    case Key::escape:
      view.editing_filter = false;
      view.filter.clear();
      break;
    case Key::backspace:
      while (!view.filter.empty()) {
        const bool whole = (static_cast<unsigned char>(view.filter.back()) & 0xc0U) != 0x80U;
        view.filter.pop_back();
        if (whole) break;
      }
      break;
    case Key::character:
      if (input.character >= U' ' && input.character != 0x7f && view.filter.size() < kMaxFilterBytes)
        append_character(view.filter, input.character);
      break;
    default:
      break;
  }
  view.first_row = 0;
}

void click(ViewState& view, const Input& input, const Screen& screen) {
  for (const Region& region : screen.regions) {
    if (input.x < region.x || input.x >= region.end || input.y < region.y || input.y >= region.bottom) continue;
    switch (region.kind) {
      case Region::Kind::column:
        return sort_by(view, region.sort);
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
  switch (c) {
    case U'q':
    case U'Q':
      return Reaction::quit;
    case U'?':
    case U'h':
      view.over = Over::help;
      break;
    case U'l':
      view.over = Over::messages;
      break;
    case U'/':
    case U'\\':
      view.editing_filter = true;
      break;
    case U't':
      view.tree = !view.tree;
      break;
    case U'w':
      view.workloads = !view.workloads;
      view.selected.clear();
      view.first_row = 0;
      break;
    case U'd':
      view.detail = static_cast<Detail>((static_cast<int>(view.detail) + 1) % (frame.hosts.size() > 1 ? 5 : 4));
      view.first_gpu_line = 0;
      break;
    case U'z': {
      constexpr std::array<int, 4> kSpans{1, 5, 15, 0};
      const auto now = std::ranges::find(kSpans, view.span.count()) - kSpans.begin();
      view.span = std::chrono::minutes(kSpans[static_cast<std::size_t>(now + 1) % kSpans.size()]);
      break;
    }
    case U'<':
    case U',':
      next_sort(view, -1);
      break;
    case U'>':
    case U'.':
      next_sort(view, 1);
      break;
    case U'r':
    case U'I':
      view.reversed = !view.reversed;
      break;
    case U'P':
      return sort_freshly(view, SortKey::busy);
    case U'M':
      return sort_freshly(view, SortKey::memory);
    case U'T':
      return sort_freshly(view, SortKey::cpu);
    case U'N':
      return sort_freshly(view, SortKey::pid);
    case U'p':
    case U' ':
      view.paused = !view.paused;
      break;
    case U'+':
    case U'=':
      return Reaction::slower;
    case U'-':
      return Reaction::faster;
    case U'g':
      next_focus(view, frame, true);
      break;
    case 0x0c:  // Ctrl-L
      return Reaction::redraw_all;
    default:
      break;
  }
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
  switch (input.key) {
    case Key::character:
      return character(view, input.character, frame);
    case Key::function:
      return function_key(view, input.number);
    case Key::enter:
      if (!view.selected.empty()) view.over = Over::process;
      break;
    case Key::escape:
      view.focus.reset();
      view.selected.clear();
      view.filter.clear();
      break;
    case Key::tab:
      next_focus(view, frame, true);
      break;
    case Key::back_tab:
      next_focus(view, frame, false);
      break;
    case Key::up:
      move(view, screen, -1);
      break;
    case Key::down:
      move(view, screen, 1);
      break;
    case Key::page_up:
      move(view, screen, -std::max(screen.page_rows, 1));
      break;
    case Key::page_down:
      move(view, screen, std::max(screen.page_rows, 1));
      break;
    case Key::home:
      select(view, screen, 0);
      break;
    case Key::end:
      select(view, screen, static_cast<int>(screen.rows.size()) - 1);
      break;
    case Key::left:
      view.first_gpu_line = std::max(screen.first_gpu_line - kWheelRows, 0);
      break;
    case Key::right:
      view.first_gpu_line = std::min(screen.first_gpu_line + kWheelRows, screen.last_first_gpu_line);
      break;
    case Key::wheel_up:
      scroll(view, screen, -kWheelRows);
      break;
    case Key::wheel_down:
      scroll(view, screen, kWheelRows);
      break;
    case Key::click:
      click(view, input, screen);
      break;
    default:
      break;
  }
  return Reaction::draw;
}

}  // namespace igpu::exporter::top
