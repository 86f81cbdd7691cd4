// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cerrno>

// Numbers of the Linux kernel's errors that the C library of another system does not name. Files of a simulated machine
// answer with them there, too.
#ifdef _WIN32
#define ENOPKG 65
#define EUSERS 87
#define EUCLEAN 117
#endif

namespace igpu {

// Captures contain Linux's error numbers, because another system may read them. These are the errors whose numbers
// differ on Windows and that machine/windows_status.h and the files which use it report.
struct ErrorNumber {
  int own, in_linux;
};
inline constexpr std::array<ErrorNumber, 4> kErrorNumbers{
    {{EOPNOTSUPP, 95}, {ENOSYS, 38}, {EOVERFLOW, 75}, {ENODATA, 61}}};

constexpr int linux_number(int own) {
  for (const ErrorNumber& number : kErrorNumbers)
    if (number.own == own) return number.in_linux;
  return own;
}
constexpr int own_number(int in_linux) {
  for (const ErrorNumber& number : kErrorNumbers)
    if (number.in_linux == in_linux) return number.own;
  return in_linux;
}

}  // namespace igpu
