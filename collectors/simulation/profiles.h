// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "igpu/monitor.h"
#include "simulation/profile_data.h"

namespace igpu::simulation {

struct Profile {
  SimulationProfile about;
  ProfileData (*data)();
};

std::span<const Profile> profiles();

}  // namespace igpu::simulation
