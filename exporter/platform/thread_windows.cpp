// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>

#include "platform/thread.h"
#include "platform/windows_headers.h"

namespace igpu::exporter {

// Since Windows 10 1607, but not in every import library.
void name_thread(const char* name) {
  using SetThreadDescription = HRESULT(WINAPI*)(HANDLE, PCWSTR);
  static const auto set = reinterpret_cast<SetThreadDescription>(
      reinterpret_cast<void*>(::GetProcAddress(::GetModuleHandleW(L"kernel32.dll"), "SetThreadDescription")));
  const std::string_view text(name);
  if (set != nullptr) (void)set(::GetCurrentThread(), std::wstring(text.begin(), text.end()).c_str());
}

void block_broken_pipes() {}
void block_all_signals() {}

struct EndPostponed::State {};
EndPostponed::EndPostponed() = default;
EndPostponed::~EndPostponed() = default;

}  // namespace igpu::exporter
