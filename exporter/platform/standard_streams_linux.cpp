// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <langinfo.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdlib>

#include "platform/own_process.h"

namespace igpu::exporter {

void prepare_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    // It gets the lowest free number. A write to standard output still has to fail.
    (void)::open("/dev/null", descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY);
  }
}

bool write_to_stderr(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {  // another process made it non-blocking
      pollfd wanted{STDERR_FILENO, POLLOUT, 0};
      if (::poll(&wanted, 1, -1) < 0 && errno != EINTR) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

int terminal_columns() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

#ifdef IGPU_STATIC

// The machine's locales may belong to another C library. Where it has no C.UTF-8 that this one reads, text is ASCII.
bool select_character_set() {
  for (const char* const variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale(value);
    for (const std::string_view utf8 : {"UTF-8", "utf8", "utf-8", "UTF8"})
      if (locale.find(utf8) != std::string_view::npos) return std::setlocale(LC_CTYPE, "C.UTF-8") != nullptr;
    return false;
  }
  return false;
}

#else

bool select_character_set() {
  (void)std::setlocale(LC_CTYPE, "");
  return std::string_view(::nl_langinfo(CODESET)) == "UTF-8";
}

#endif

}  // namespace igpu::exporter
