// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "view/client/http_fetcher.h"

namespace igpu::exporter {

// Checks the files, and, as curl does, asks for the password if only a name is given: on the command line other users
// could see it. Throws OptionError.
ClientOptions checked_client_options(ClientOptions client);

}  // namespace igpu::exporter
