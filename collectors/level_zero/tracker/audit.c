// SPDX-License-Identifier: Apache-2.0
// A way in for programs that clear their library path: as an auditor of the dynamic linker (LD_AUDIT) it answers the
// search for the validation layer with the layer that lies beside it.
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

static char layer[PATH_MAX];

__attribute__((visibility("default"))) unsigned la_version(unsigned version) {
  Dl_info self;
  const char* slash = dladdr((void*)&la_version, &self) == 0 ? NULL : strrchr(self.dli_fname, '/');
  if (slash != NULL)
    snprintf(layer, sizeof layer, "%.*s/libze_validation_layer.so.1", (int)(slash - self.dli_fname), self.dli_fname);
  return version < LAV_CURRENT ? version : LAV_CURRENT;
}

__attribute__((visibility("default"))) char* la_objsearch(const char* name, uintptr_t* cookie, unsigned flag) {
  (void)cookie;
  // With a path, the caller means exactly that file.
  if (flag == LA_SER_ORIG && layer[0] != '\0' && strncmp(name, "libze_validation_layer.so", 25) == 0) return layer;
  return (char*)name;
}
