// SPDX-License-Identifier: Apache-2.0
#pragma once

// Marks what the shared library exports; everything else is hidden in it.
#define IGPU_API __attribute__((visibility("default")))
