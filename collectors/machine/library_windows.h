// SPDX-License-Identifier: Apache-2.0
#pragma once

// clang-format off: this one comes first
#include <windows.h>
// clang-format on

#include <cstring>
#include <string>

namespace igpu {

// A DLL whose functions are looked up at run time. On a Windows that lacks the DLL or a function, only the values
// behind it are missing.
class WindowsLibrary {
 public:
  // Only Windows' own folder is searched, unless the name is a path.
  explicit WindowsLibrary(const std::string& name)
      : module_(::LoadLibraryExA(name.c_str(), nullptr,
                                 name.find_first_of("\\/") == std::string::npos ? LOAD_LIBRARY_SEARCH_SYSTEM32 : 0)) {}
  ~WindowsLibrary() {
    if (module_) ::FreeLibrary(module_);
  }
  WindowsLibrary(const WindowsLibrary&) = delete;
  WindowsLibrary& operator=(const WindowsLibrary&) = delete;

  // Returns false and sets `function` to null if the DLL has no such function.
  template <class F>
  bool look_up(F& function, const char* name) const {
    const FARPROC found = module_ ? ::GetProcAddress(module_, name) : nullptr;
    static_assert(sizeof function == sizeof found);
    std::memcpy(&function, &found, sizeof function);
    return found != nullptr;
  }

 private:
  HMODULE module_;
};

}  // namespace igpu
