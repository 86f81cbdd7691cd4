// SPDX-License-Identifier: Apache-2.0
#pragma once

#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <curses.h>

#include "platform/shared_library.h"

namespace igpu::exporter::top {

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

}  // namespace igpu::exporter::top
