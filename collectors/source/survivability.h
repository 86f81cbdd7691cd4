// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "machine/filesystem.h"

// The mode in which xe holds a card whose firmware failed, so that it can be flashed (xe_survivability_mode.c;
// Battlemage and later cards, from Linux 6.15). At boot the card then has no DRM node at all; later ones (6.19) enter
// it at run time.
namespace igpu {

// Whether the file exists: its content is root's, its existence is everybody's. Reads nothing and wakes nothing.
Reading<bool> in_survivability_mode(const Directory& sys, std::string_view pci_path);

}  // namespace igpu
