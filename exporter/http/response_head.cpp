// SPDX-License-Identifier: Apache-2.0
#include "http/response_head.h"

#include <civetweb.h>

#include <array>
#include <charconv>
#include <ctime>

#include "text/utc.h"

namespace igpu::exporter {
namespace {

void append_number(std::string& out, std::size_t number, std::size_t digits = 1) {
  std::array<char, 24> text{};
  const char* const end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  const auto size = static_cast<std::size_t>(end - text.data());
  if (size < digits) out.append(digits - size, '0');
  out.append(text.data(), size);
}

// "Sun, 06 Nov 1994 08:49:37 GMT". Not strftime, which uses the names of the locale.
void append_date(std::string& out) {
  constexpr std::array<std::string_view, 7> kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::tm utc = utc_of(std::time(nullptr));
  const auto two_digits = [&out](int number) { append_number(out, static_cast<std::size_t>(number), 2); };
  out += kDays[static_cast<std::size_t>(utc.tm_wday)];
  out += ", ";
  two_digits(utc.tm_mday);
  out += ' ';
  out += kMonths[static_cast<std::size_t>(utc.tm_mon)];
  out += ' ';
  append_number(out, static_cast<std::size_t>(utc.tm_year) + 1900, 4);
  out += ' ';
  two_digits(utc.tm_hour);
  out += ':';
  two_digits(utc.tm_min);
  out += ':';
  two_digits(utc.tm_sec);
  out += " GMT";
}

}  // namespace

std::string_view status_text(int status) { return mg_get_response_code_text(nullptr, status); }

std::string response_head(const HttpResponse& response) {
  std::string head;
  head.reserve(512);
  head += "HTTP/1.1 ";
  append_number(head, static_cast<std::size_t>(response.status));
  head += ' ';
  head += status_text(response.status);
  head += "\r\nDate: ";
  append_date(head);
  head += "\r\nContent-Type: ";
  head += response.content_type;
  head += "\r\n";
  if (!response.subscription) {
    head += "Content-Length: ";
    append_number(head, response.content().size());
    head += "\r\n";
  }
  for (const auto& [name, value] : response.headers) {
    head += name;
    head += ": ";
    head += value;
    head += "\r\n";
  }
  head += "X-Content-Type-Options: nosniff\r\n";
  return head;
}

}  // namespace igpu::exporter
