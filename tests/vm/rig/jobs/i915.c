// SPDX-License-Identifier: GPL-2.0
/* The same under the name by which programs find i915's tracepoints and types. */
#include "gpujobs.c"
