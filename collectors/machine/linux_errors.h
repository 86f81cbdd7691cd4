// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>

// Numbers of the Linux kernel's errors that the C library of another system does not name. Files of a simulated machine
// answer with them there, too.
#ifdef _WIN32
#define ENOPKG 65
#define EUSERS 87
#define EUCLEAN 117
#endif
