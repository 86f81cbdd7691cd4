// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "base/option.h"

namespace igpu {

// How processes with a GPU are found; the way is the same for all collectors.
enum class FinderChoice { automatic, bpf, walk };
inline constexpr std::array<Choice<FinderChoice>, 3> kFinderChoices{
    {{"auto", FinderChoice::automatic}, {"bpf", FinderChoice::bpf}, {"walk", FinderChoice::walk}}};
inline constexpr ChoiceOption<FinderChoice> kFinder{
    {.flag = "collector.fdinfo.finder",
     .default_value = "auto",
     .help = "How to find processes that use a GPU: bpf asks the kernel and needs CAP_BPF and CAP_PERFMON; walk reads "
             "/proc; auto uses bpf if it is available."},
    kFinderChoices};

}  // namespace igpu
