// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "machine/filesystem.h"

// The mode in which xe holds a card whose firmware failed, so that it can be flashed (xe_survivability_mode.c;
// Battlemage and later cards, from Linux 6.15). A card that enters it at boot has no DRM node; from Linux 6.19 on a
// card can enter it at run time.
namespace igpu {

// Whether the mode's file exists. Every user can see that, while only root can read the file. Does not resume the GPU.
Reading<bool> in_survivability_mode(const Directory& sys, std::string_view pci_path);

}  // namespace igpu
