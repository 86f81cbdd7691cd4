// SPDX-License-Identifier: Apache-2.0
#pragma once

#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <curses.h>

#include "service/shared_library.h"

namespace igpu::exporter::top {

// The functions of ncurses (with wide characters). Constructing the first object loads the library.
struct CursesLibrary {
  SharedLibrary library{{"libncursesw.so.6"}, "the live view", "libncursesw6"};
  decltype(&::newterm) new_term = library.symbol<decltype(&::newterm)>("newterm");
  decltype(&::endwin) end_win = library.symbol<decltype(&::endwin)>("endwin");
  decltype(&::delscreen) del_screen = library.symbol<decltype(&::delscreen)>("delscreen");
  decltype(&::cbreak) c_break = library.symbol<decltype(&::cbreak)>("cbreak");
  decltype(&::noecho) no_echo = library.symbol<decltype(&::noecho)>("noecho");
  decltype(&::nonl) no_nl = library.symbol<decltype(&::nonl)>("nonl");
  decltype(&::keypad) key_pad = library.symbol<decltype(&::keypad)>("keypad");
  decltype(&::nodelay) no_delay = library.symbol<decltype(&::nodelay)>("nodelay");
  decltype(&::set_escdelay) set_esc_delay = library.symbol<decltype(&::set_escdelay)>("set_escdelay");
  decltype(&::wget_wch) get_wch = library.symbol<decltype(&::wget_wch)>("wget_wch");
  decltype(&::mousemask) mouse_mask = library.symbol<decltype(&::mousemask)>("mousemask");
  decltype(&::mouseinterval) mouse_interval = library.symbol<decltype(&::mouseinterval)>("mouseinterval");
  decltype(&::getmouse) get_mouse = library.symbol<decltype(&::getmouse)>("getmouse");
  decltype(&::has_colors) has_color = library.symbol<decltype(&::has_colors)>("has_colors");
  decltype(&::start_color) start_colors = library.symbol<decltype(&::start_color)>("start_color");
  decltype(&::use_default_colors) default_colors =
      library.symbol<decltype(&::use_default_colors)>("use_default_colors");
  decltype(&::init_pair) make_pair = library.symbol<decltype(&::init_pair)>("init_pair");
  decltype(&::curs_set) set_cursor = library.symbol<decltype(&::curs_set)>("curs_set");
  decltype(&::setcchar) set_cchar = library.symbol<decltype(&::setcchar)>("setcchar");
  decltype(&::wmove) move = library.symbol<decltype(&::wmove)>("wmove");
  decltype(&::wadd_wch) add_wch = library.symbol<decltype(&::wadd_wch)>("wadd_wch");
  decltype(&::wrefresh) refresh = library.symbol<decltype(&::wrefresh)>("wrefresh");
  decltype(&::clearok) clear_ok = library.symbol<decltype(&::clearok)>("clearok");
  decltype(&::werase) erase = library.symbol<decltype(&::werase)>("werase");
  decltype(&::resize_term) resize = library.symbol<decltype(&::resize_term)>("resize_term");
  decltype(&::tigetstr) capability = library.symbol<decltype(&::tigetstr)>("tigetstr");
  WINDOW** standard_screen = library.symbol<WINDOW**>("stdscr");
};

}  // namespace igpu::exporter::top
