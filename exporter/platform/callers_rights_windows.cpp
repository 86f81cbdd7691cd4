// SPDX-License-Identifier: Apache-2.0
#include "platform/callers_rights.h"

namespace igpu::exporter {

// No file gives a program rights that its caller lacks.
bool has_rights_of_its_file() { return false; }
bool is_set_id() { return false; }
CallersRights::CallersRights() = default;
CallersRights::~CallersRights() = default;

}  // namespace igpu::exporter
