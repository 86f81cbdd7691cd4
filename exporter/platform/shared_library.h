// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <initializer_list>
#include <stdexcept>
#include <string>

namespace igpu::exporter {

#ifdef IGPU_STATIC

// A static program cannot load the machine's libraries, which may use another C library.
class SharedLibrary {
 public:
  SharedLibrary(std::initializer_list<const char*> /*names*/, const std::string& purpose, const std::string& package) {
    throw std::runtime_error(purpose + " needs " + package +
                             ", which the static file cannot load: use the package or the image");
  }
  template <class T>
  T symbol(const char* /*name*/) const {
    return nullptr;
  }

 private:
  // As large as below: only some files of the static program are compiled with this class.
  [[maybe_unused]] void* handle_ = nullptr;
};

#else

// A library that only one command needs: loaded when that command starts, so that it is neither in the service's memory
// nor a requirement of its package. Stays loaded until the program ends.
class SharedLibrary {
 public:
  // Loads the first of the names that this machine has. purpose and package are for the error:
  // "the live view needs libncursesw.so.6 (Debian: apt install libncursesw6)".
  SharedLibrary(std::initializer_list<const char*> names, const std::string& purpose, const std::string& package) {
    for (const char* name : names) {
      handle_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) return;
    }
    throw std::runtime_error(purpose + " needs " + *names.begin() + " (Debian: apt install " + package + ")");
  }

  // T: a pointer to a function or to an object.
  template <class T>
  T symbol(const char* name) const {
    void* const address = ::dlsym(handle_, name);
    if (address == nullptr) throw std::runtime_error(std::string("the library lacks ") + name);
    return reinterpret_cast<T>(address);
  }

 private:
  void* handle_ = nullptr;
};

#endif

}  // namespace igpu::exporter
