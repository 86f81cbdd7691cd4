// SPDX-License-Identifier: Apache-2.0
#include "view/top/terminal.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/own_process.h"
#include "platform/standard_streams.h"
#include "view/top/crash_guard.h"
#include "view/top/curses_library.h"

namespace igpu::exporter::top {
namespace {

constexpr short kNoPair = 0;

struct Look {
  short colour;  // -1: the terminal's own
  attr_t attributes;
};

// Readable on dark and on bright backgrounds; without colours the attributes remain.
Look look_of(Style style) {
  switch (style) {
    case Style::plain:
      return {-1, A_NORMAL};
    case Style::dim:
      return {-1, A_DIM};
    case Style::strong:
      return {-1, A_BOLD};
    case Style::bar_title:
    case Style::selected:
      return {-1, A_REVERSE};
    case Style::good:
      return {COLOR_GREEN, A_NORMAL};
    case Style::warning:
      return {COLOR_YELLOW, A_BOLD};
    case Style::alarm:
      return {COLOR_RED, A_BOLD};
    case Style::render:
      return {COLOR_BLUE, A_BOLD};
    case Style::copy:
      return {COLOR_WHITE, A_NORMAL};
    case Style::video:
      return {COLOR_GREEN, A_NORMAL};
    case Style::video_enhance:
      return {COLOR_YELLOW, A_NORMAL};
    case Style::compute:
      return {COLOR_MAGENTA, A_NORMAL};
  }
  return {-1, A_NORMAL};
}

constexpr std::size_t kStyles = static_cast<std::size_t>(Style::compute) + 1;

std::string_view term() {
  const char* const name = std::getenv("TERM");
  return name == nullptr ? "" : name;
}

}  // namespace

struct Terminal::State {
  CursesLibrary curses;
  SCREEN* screen = nullptr;
  WINDOW* window = nullptr;
  std::unique_ptr<CrashGuard> guard;
  bool unicode = false;
  Size size;
  std::vector<Cell> painted;  // what is on the screen
  std::array<std::pair<attr_t, short>, kStyles> looks{};

  std::string restore_text() const {
    std::string text;
    const auto add = [&](const char* name) {
      const char* const value = curses.capability(name);
      if (value != nullptr && value != reinterpret_cast<const char*>(-1)) text += value;
    };
    // ncurses switches the mouse on by these numbers where the terminal reports it.
    const char* const mouse = curses.capability("kmous");
    if (mouse != nullptr && mouse != reinterpret_cast<const char*>(-1)) text += "\033[?1006l\033[?1002l\033[?1000l";
    for (const char* name : {"sgr0", "op", "cnorm", "rmkx", "rmcup"}) add(name);
    return text + "\r\n";
  }

  void choose_looks(bool colours) {
    colours = colours && curses.has_color() && curses.start_colors() == OK;
    if (colours) curses.default_colors();
    short next_pair = 1;
    for (std::size_t i = 0; i < kStyles; ++i) {
      const Look look = look_of(static_cast<Style>(i));
      short pair = kNoPair;
      if (colours && look.colour >= 0 && curses.make_pair(next_pair, look.colour, -1) == OK) pair = next_pair++;
      looks[i] = {look.attributes, pair};
    }
  }

  void put(const Cell& cell) {
    const std::array<wchar_t, 2> text{static_cast<wchar_t>(cell.character), L'\0'};
    const auto& [attributes, pair] = looks[static_cast<std::size_t>(cell.style)];
    cchar_t out;
    if (curses.set_cchar(&out, text.data(), attributes, pair, nullptr) == OK) curses.add_wch(window, &out);
  }
};

bool Terminal::available() {
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1 && !term().empty() && term() != "dumb";
}

std::optional<Size> Terminal::size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return Size{size.ws_col, size.ws_row};
}

Terminal::Terminal(const Options& options) : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.unicode = select_character_set();
  termios before{};
  (void)::tcgetattr(STDOUT_FILENO, &before);
  const CallersRights callers;  // TERMINFO and HOME name files
  state.screen = state.curses.new_term(nullptr, stdout, stdin);
  if (state.screen == nullptr)
    throw std::runtime_error("the terminal type \"" + std::string(term()) + "\" is not known here; TERM names it");
  state.guard = std::make_unique<CrashGuard>(STDOUT_FILENO, before, state.restore_text());
  state.window = *state.curses.standard_screen;
  state.curses.c_break();
  state.curses.no_echo();
  state.curses.no_nl();
  state.curses.key_pad(state.window, true);
  state.curses.no_delay(state.window, true);
  state.curses.set_esc_delay(25);
  state.curses.set_cursor(0);
  state.curses.mouse_mask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, nullptr);
  state.curses.mouse_interval(0);
  state.choose_looks(options.colours);
  (void)fit();
}

Terminal::~Terminal() {
  state_->curses.end_win();
  state_->guard.reset();
  state_->curses.del_screen(state_->screen);
}

bool Terminal::unicode() const { return state_->unicode; }

Size Terminal::fit() {
  const Size now = size().value_or(Size{});
  if (now == state_->size) return now;
  state_->size = now;
  state_->painted.clear();
  state_->curses.resize(now.height, now.width);
  state_->curses.clear_ok(state_->window, true);
  state_->curses.erase(state_->window);
  return now;
}

void Terminal::paint(const Canvas& canvas) {
  State& state = *state_;
  const auto width = static_cast<std::size_t>(canvas.width());
  const bool all = state.painted.size() != width * static_cast<std::size_t>(canvas.height());
  state.painted.resize(width * static_cast<std::size_t>(canvas.height()));
  for (int y = 0; y < canvas.height(); ++y) {
    const std::vector<Cell>& row = canvas.row(y);
    Cell* const before = &state.painted[static_cast<std::size_t>(y) * width];
    if (!all && std::equal(row.begin(), row.end(), before)) continue;
    std::copy(row.begin(), row.end(), before);
    state.curses.move(state.window, y, 0);
    for (const Cell& cell : row) {
      if (cell.character != 0) state.put(cell);
    }
  }
  state.curses.refresh(state.window);  // sends only what has changed
}

void Terminal::redraw_all() {
  state_->curses.clear_ok(state_->window, true);
  state_->curses.refresh(state_->window);
  // Changed by whatever ran in between.
  state_->curses.set_cursor(1);
  state_->curses.set_cursor(0);
}

void Terminal::suspend() { state_->curses.end_win(); }

std::optional<Input> Terminal::input() {
  wint_t code = 0;
  const int kind = state_->curses.get_wch(state_->window, &code);
  if (kind == ERR) return std::nullopt;
  if (kind == OK) {
    switch (code) {
      case L'\r':
      case L'\n':
        return Input{.key = Key::enter};
      case L'\t':
        return Input{.key = Key::tab};
      case 0x1b:
        return Input{.key = Key::escape};
      case 0x7f:
      case 0x08:
        return Input{.key = Key::backspace};
      default:
        return Input{.key = Key::character, .character = static_cast<char32_t>(code)};
    }
  }
  const int key = static_cast<int>(code);
  if (key == KEY_MOUSE) {
    MEVENT event;
    if (state_->curses.get_mouse(&event) != OK) return Input{};
    Input input{.key = Key::click, .x = event.x, .y = event.y};
    if ((event.bstate & BUTTON4_PRESSED) != 0) input.key = Key::wheel_up;
    if ((event.bstate & BUTTON5_PRESSED) != 0) input.key = Key::wheel_down;
    return input;
  }
  if (key >= KEY_F(1) && key <= KEY_F(12)) return Input{.key = Key::function, .number = key - KEY_F(0)};
  constexpr std::array<std::pair<int, Key>, 13> kKeys{{{KEY_UP, Key::up},
                                                       {KEY_DOWN, Key::down},
                                                       {KEY_LEFT, Key::left},
                                                       {KEY_RIGHT, Key::right},
                                                       {KEY_PPAGE, Key::page_up},
                                                       {KEY_NPAGE, Key::page_down},
                                                       {KEY_HOME, Key::home},
                                                       {KEY_END, Key::end},
                                                       {KEY_BTAB, Key::back_tab},
                                                       {KEY_BACKSPACE, Key::backspace},
                                                       {KEY_ENTER, Key::enter},
                                                       {KEY_RESIZE, Key::resize},
                                                       {KEY_A1, Key::home}}};
  for (const auto& [known, meaning] : kKeys) {
    if (known == key) return Input{.key = meaning};
  }
  return Input{};  // a key without a meaning
}

}  // namespace igpu::exporter::top
