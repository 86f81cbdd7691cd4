// SPDX-License-Identifier: Apache-2.0
#include "view/top/screen.h"

#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/own_process.h"
#include "platform/shared_library.h"

namespace igpu::exporter::top {
namespace {

constexpr std::array<int, 5> kFaults{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

// A signal handler reaches nothing but global state. Written before the handlers are set.
struct Restore {
  int terminal = -1;
  termios settings{};
  std::array<char, 256> text{};
  std::size_t size = 0;
  std::array<struct sigaction, kFaults.size()> before{};
};
Restore restore_state;
std::array<char, 64U << 10> stack_of_handler;  // the fault may be that the stack is full; all zero, so not in the file

// Only async-signal-safe calls.
extern "C" void restore_terminal_and_die(int signal) {
  const Restore& state = restore_state;
  (void)!::write(state.terminal, state.text.data(), state.size);
  (void)::tcsetattr(state.terminal, TCSANOW, &state.settings);
  // SA_RESETHAND has restored the default: the signal ends the program when the handler returns, with its core dump.
  (void)::raise(signal);
}

// While this object exists, a fatal signal (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) in any thread first restores the
// terminal, then ends the program as usual. Only one object may exist at a time.
class CrashGuard {
 public:
  // restore: text that is written to the terminal. settings: those that are set again (echo, line editing).
  CrashGuard(int terminal, const termios& settings, const std::string& restore) {
    Restore& state = restore_state;
    state.terminal = terminal;
    state.settings = settings;
    state.size = std::min(restore.size(), state.text.size());
    std::copy_n(restore.begin(), state.size, state.text.begin());
    stack_t stack{};
    stack.ss_sp = stack_of_handler.data();
    stack.ss_size = stack_of_handler.size();
    (void)::sigaltstack(&stack, nullptr);
    struct sigaction action {};
    action.sa_handler = &restore_terminal_and_die;
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_ONSTACK;
    ::sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < kFaults.size(); ++i) (void)::sigaction(kFaults[i], &action, &state.before[i]);
  }
  ~CrashGuard() {
    for (std::size_t i = 0; i < kFaults.size(); ++i) (void)::sigaction(kFaults[i], &restore_state.before[i], nullptr);
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    (void)::sigaltstack(&none, nullptr);
  }
  CrashGuard(const CrashGuard&) = delete;
  CrashGuard& operator=(const CrashGuard&) = delete;
};

// The functions of ncurses (with wide characters). Constructing the first object loads the library, unless it is a part
// of the static file.
struct CursesLibrary {
#ifdef IGPU_STATIC
#define IGPU_CURSES(name) &::name
#else
#define IGPU_CURSES(name) library.symbol<decltype(&::name)>(#name)
  SharedLibrary library{{"libncursesw.so.6"}, "the live view", "libncursesw6"};
#endif
  decltype(&::newterm) new_term = IGPU_CURSES(newterm);
  decltype(&::endwin) end_win = IGPU_CURSES(endwin);
  decltype(&::delscreen) del_screen = IGPU_CURSES(delscreen);
  decltype(&::cbreak) c_break = IGPU_CURSES(cbreak);
  decltype(&::noecho) no_echo = IGPU_CURSES(noecho);
  decltype(&::nonl) no_nl = IGPU_CURSES(nonl);
  decltype(&::keypad) key_pad = IGPU_CURSES(keypad);
  decltype(&::nodelay) no_delay = IGPU_CURSES(nodelay);
  decltype(&::set_escdelay) set_esc_delay = IGPU_CURSES(set_escdelay);
  decltype(&::wget_wch) get_wch = IGPU_CURSES(wget_wch);
  decltype(&::mousemask) mouse_mask = IGPU_CURSES(mousemask);
  decltype(&::mouseinterval) mouse_interval = IGPU_CURSES(mouseinterval);
  decltype(&::getmouse) get_mouse = IGPU_CURSES(getmouse);
  decltype(&::has_colors) has_color = IGPU_CURSES(has_colors);
  decltype(&::start_color) start_colors = IGPU_CURSES(start_color);
  decltype(&::use_default_colors) default_colors = IGPU_CURSES(use_default_colors);
  decltype(&::init_pair) make_pair = IGPU_CURSES(init_pair);
  decltype(&::curs_set) set_cursor = IGPU_CURSES(curs_set);
  decltype(&::setcchar) set_cchar = IGPU_CURSES(setcchar);
  decltype(&::wmove) move = IGPU_CURSES(wmove);
  decltype(&::wadd_wch) add_wch = IGPU_CURSES(wadd_wch);
  decltype(&::wrefresh) refresh = IGPU_CURSES(wrefresh);
  decltype(&::clearok) clear_ok = IGPU_CURSES(clearok);
  decltype(&::werase) erase = IGPU_CURSES(werase);
  decltype(&::resize_term) resize = IGPU_CURSES(resize_term);
  decltype(&::tigetstr) capability = IGPU_CURSES(tigetstr);
  WINDOW** standard_screen = IGPU_CURSES(stdscr);
#undef IGPU_CURSES
};

constexpr short kNoPair = 0;

struct Look {
  short colour;  // -1: the terminal's own
  attr_t attributes;
};

// Readable on dark and on bright backgrounds; without colours the attributes remain.
Look look_of(Style style) {
  switch (style) {
    case Style::plain: return {-1, A_NORMAL};
    case Style::dim: return {-1, A_DIM};
    case Style::strong: return {-1, A_BOLD};
    case Style::bar_title:
    case Style::selected: return {-1, A_REVERSE};
    case Style::good: return {COLOR_GREEN, A_NORMAL};
    case Style::warning: return {COLOR_YELLOW, A_BOLD};
    case Style::alarm: return {COLOR_RED, A_BOLD};
    case Style::render: return {COLOR_BLUE, A_BOLD};
    case Style::copy: return {COLOR_WHITE, A_NORMAL};
    case Style::video: return {COLOR_GREEN, A_NORMAL};
    case Style::video_enhance: return {COLOR_YELLOW, A_NORMAL};
    case Style::compute: return {COLOR_MAGENTA, A_NORMAL};
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

Terminal::Terminal(bool colours) : state_(std::make_unique<State>()) {
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
  state.choose_looks(colours);
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
    if (code == L'\r' || code == L'\n') return Input{.key = Key::enter};
    if (code == L'\t') return Input{.key = Key::tab};
    if (code == 0x1b) return Input{.key = Key::escape};
    if (code == 0x7f || code == 0x08) return Input{.key = Key::backspace};
    return Input{.key = Key::character, .character = static_cast<char32_t>(code)};
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
