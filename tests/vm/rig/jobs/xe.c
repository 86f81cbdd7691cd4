// SPDX-License-Identifier: GPL-2.0
/* The same under the name by which programs find xe's types. */
#include "gpujobs.c"
