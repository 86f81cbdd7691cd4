# SPDX-License-Identifier: Apache-2.0
#
# Toolchain: programs for Windows (x64) by Debian's g++-mingw-w64-x86-64-posix, whose std::thread is that of POSIX. They need no DLL
# but Windows' own.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR AMD64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
# 1809 and later: NTDDI_WIN10_RS5.
set(CMAKE_C_FLAGS_INIT "-D_WIN32_WINNT=0x0A00 -DNTDDI_VERSION=0x0A000006")
set(CMAKE_CXX_FLAGS_INIT "-D_WIN32_WINNT=0x0A00 -DNTDDI_VERSION=0x0A000006 -DNOMINMAX -DWIN32_LEAN_AND_MEAN")
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
set(CMAKE_SHARED_LINKER_FLAGS_INIT -static)
# Nothing of the build machine: its headers are those of Linux. third_party/windows.cmake passes those that are not.
set(CMAKE_FIND_ROOT_PATH /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# Programs that the tests start.
set(CMAKE_CROSSCOMPILING_EMULATOR wine)
