// SPDX-License-Identifier: Apache-2.0
// A way in for programs whose library path cannot be set: preloaded (LD_PRELOAD), it loads the layer that lies beside
// it, so that the loader finds it by its name. The layer itself must not be preloaded: its functions have the loader's
// names.
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((constructor)) static void load_layer(void) {
  Dl_info self;
  if (dladdr((void*)&load_layer, &self) == 0) return;
  const char* slash = strrchr(self.dli_fname, '/');
  if (slash == NULL) return;
  char path[PATH_MAX];
  const int length =
      snprintf(path, sizeof path, "%.*s/libze_validation_layer.so.1", (int)(slash - self.dli_fname), self.dli_fname);
  if (length < 0 || length >= (int)sizeof path) return;
  if (dlopen(path, RTLD_NOW | RTLD_LOCAL) != NULL) setenv("ZE_ENABLE_VALIDATION_LAYER", "1", 1);
}
