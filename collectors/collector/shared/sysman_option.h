// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/option.h"

namespace igpu {

// Sysman runs the graphics driver's library in this process, and may wake a sleeping GPU.
inline constexpr SwitchOption kSysman{
    {.flag = "collector.sysman",
     .default_value = "disabled",
     .help = "Windows: ask Level Zero's Sysman (ze_loader.dll of the graphics driver) for energy, memory traffic, and "
             "temperatures and fans that Windows does not report. The driver's code then runs in this process."}};

// Causes and hints in the KernelAbsence of features that only Sysman has.

inline constexpr std::string_view kSysmanIsNotAsked =
    "Windows does not report it; the graphics driver's Sysman may, and is not asked";
inline constexpr std::string_view kAskSysman = "--collector.sysman";
inline constexpr std::string_view kNoSysman =
    "Windows does not report it, and there is no ze_loader.dll with zesInit in Windows' folder, or no driver for it";
inline constexpr std::string_view kInstallSysman = "install a current graphics driver of Intel's";

}  // namespace igpu
