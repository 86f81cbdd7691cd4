// SPDX-License-Identifier: Apache-2.0
#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>

#include <cstdlib>
#include <filesystem>

#include "level_zero/report.h"
#include "text/text.h"

namespace igpu::exporter {

// What is used of libdw (elfutils/libdwfl.h, elfutils/libdw.h). It is opened when it is needed: the server never does.
struct Symbols::Dwarf {
  struct Callbacks {
    void *find_elf, *find_debug_info, *section_address;
    char** debug_info_path;
  };
  using Session = void;
  using Module = void;

  Dwarf() {
#ifndef IGPU_STATIC  // a static program cannot load a library of this machine's
    handle = ::dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
#endif
    if (handle == nullptr) return;
    callbacks = {find("dwfl_build_id_find_elf"), find("dwfl_standard_find_debuginfo"),
                 find("dwfl_offline_section_address"), nullptr};
    load(begin, "dwfl_begin");
    load(end, "dwfl_end");
    load(report, "dwfl_report_elf");
    load(report_end, "dwfl_report_end");
    load(symbol, "dwfl_module_addrinfo");
    load(line, "dwfl_module_getsrc");
    load(line_info, "dwfl_lineinfo");
    load(next_unit, "dwfl_module_nextcu");
    load(has_address, "dwarf_haspc");
    load(unit_line, "dwarf_getsrc_die");
    load(line_file, "dwarf_linesrc");
    load(line_number, "dwarf_lineno");
  }
  ~Dwarf() {
    if (handle != nullptr) ::dlclose(handle);
  }
  Dwarf(const Dwarf&) = delete;
  Dwarf& operator=(const Dwarf&) = delete;

  bool usable() const { return handle != nullptr && complete; }

  void* find(const char* name) {
    void* const function = ::dlsym(handle, name);
    complete = complete && function != nullptr;
    return function;
  }
  template <class Function>
  void load(Function& function, const char* name) {
    function = reinterpret_cast<Function>(find(name));
  }

  void* handle = nullptr;
  bool complete = true;
  Callbacks callbacks{};
  Session* (*begin)(const Callbacks*) = nullptr;
  void (*end)(Session*) = nullptr;
  Module* (*report)(Session*, const char* name, const char* file, int fd, std::uint64_t base,
                    bool add_p_vaddr) = nullptr;
  int (*report_end)(Session*, void* removed, void* argument) = nullptr;
  const char* (*symbol)(Module*, std::uint64_t address, std::uint64_t* offset, Elf64_Sym*, std::uint32_t* section,
                        void** elf, std::uint64_t* bias) = nullptr;
  void* (*line)(Module*, std::uint64_t address) = nullptr;
  const char* (*line_info)(void* line, std::uint64_t* address, int* number, int* column, std::uint64_t* mtime,
                           std::uint64_t* length) = nullptr;
  void* (*next_unit)(Module*, void* last, std::uint64_t* bias) = nullptr;
  int (*has_address)(void* unit, std::uint64_t address) = nullptr;
  void* (*unit_line)(void* unit, std::uint64_t address) = nullptr;
  const char* (*line_file)(void* line, std::uint64_t* mtime, std::uint64_t* length) = nullptr;
  int (*line_number)(void* line, int* number) = nullptr;
};

namespace {

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
  return status == 0 && text ? text.get() : name;
}

std::string address_text(std::uint64_t number) { return formatted("%#llx", static_cast<unsigned long long>(number)); }

}  // namespace

class Symbols::Library {
 public:
  Library(const Dwarf& dwarf, const std::string& path)
      : dwarf_(dwarf), name_(std::filesystem::path(path).filename().string()) {
    std::error_code error;
    // The path is what a program wrote: only files are opened.
    if (!dwarf_.usable() || !std::filesystem::is_regular_file(path, error)) return;
    session_ = dwarf_.begin(&dwarf_.callbacks);
    if (session_ == nullptr) return;
    // With base 0 the addresses are those in the file.
    module_ = dwarf_.report(session_, name_.c_str(), path.c_str(), -1, 0, true);
    dwarf_.report_end(session_, nullptr, nullptr);
  }
  ~Library() {
    if (session_ != nullptr) dwarf_.end(session_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  std::string describe(std::uint64_t return_address) const {
    const std::string in = " (" + name_ + ")";
    if (module_ == nullptr) return address_text(return_address) + in;
    const std::uint64_t call = return_address - 1;  // within the instruction that called
    std::uint64_t offset = 0;
    Elf64_Sym symbol{};
    const char* function = dwarf_.symbol(module_, call, &offset, &symbol, nullptr, nullptr, nullptr);
    std::string text =
        (function == nullptr ? address_text(return_address) : demangled(function) + "+" + address_text(offset + 1)) +
        in;
    int number = 0;
    if (const char* file = source_of(call, number)) text += " at " + std::string(file) + ":" + std::to_string(number);
    return text;
  }

 private:
  // nullptr without debug information.
  const char* source_of(std::uint64_t address, int& number) const {
    if (void* const line = dwarf_.line(module_, address))
      return dwarf_.line_info(line, nullptr, &number, nullptr, nullptr, nullptr);
    // clang writes no .debug_aranges, in which libdw finds the unit of an address.
    std::uint64_t bias = 0;
    for (void* unit = dwarf_.next_unit(module_, nullptr, &bias); unit != nullptr;
         unit = dwarf_.next_unit(module_, unit, &bias)) {
      if (dwarf_.has_address(unit, address - bias) != 1) continue;
      void* const line = dwarf_.unit_line(unit, address - bias);
      if (line == nullptr || dwarf_.line_number(line, &number) != 0) return nullptr;
      return dwarf_.line_file(line, nullptr, nullptr);
    }
    return nullptr;
  }

  const Dwarf& dwarf_;
  std::string name_;
  Dwarf::Session* session_ = nullptr;
  Dwarf::Module* module_ = nullptr;
};

Symbols::Symbols() : dwarf_(std::make_unique<Dwarf>()) {}
Symbols::~Symbols() { libraries_.clear(); }

Symbols::Library& Symbols::library(const std::string& path) {
  std::unique_ptr<Library>& known = libraries_[path];
  if (!known) known = std::make_unique<Library>(*dwarf_, path);
  return *known;
}

std::string Symbols::describe(const LevelZeroFrame& frame) {
  if (frame.library.empty()) return address_text(frame.offset);
  return library(frame.library).describe(frame.offset);
}

}  // namespace igpu::exporter
