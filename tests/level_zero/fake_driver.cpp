// SPDX-License-Identifier: Apache-2.0
// A Level Zero driver without a GPU, for the real loader (ZE_ENABLE_ALT_DRIVERS). It hands out real handles and refuses
// what no GPU could give, so that programs see what they would see.
#include <level_zero/ze_api.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

// A namespace of its own: some of these take other types than the API's functions of the same name.
namespace fake {

using Word = std::uintptr_t;
using Result = std::uint32_t;
struct Block64 {
  char bytes[64];
};
struct Triple {
  std::uint32_t x, y, z;
};
constexpr Result kSuccess = ZE_RESULT_SUCCESS;
constexpr Word kMemory = Word{1} << 40;

template <class T>
void* address(T* function) {
  return reinterpret_cast<void*>(function);
}

template <int index, class First, class... Rest>
Word pick(First first, Rest... rest) {
  if constexpr (index == 0)
    return first;
  else
    return pick<index - 1>(rest...);
}

Result hand_out(Word place) {
  if (place != 0) *reinterpret_cast<void**>(place) = std::malloc(16);
  return kSuccess;
}

Result take_back(Word handle) {
  std::free(reinterpret_cast<void*>(handle));
  return kSuccess;
}

template <int out, int second, class... Parameters>
struct Make {
  static Result call(Parameters... parameters) {
    if constexpr (second >= 0) hand_out(pick<second>(parameters...));
    return hand_out(pick<out>(parameters...));
  }
};

template <int in, class... Parameters>
struct Drop {
  static Result call(Parameters... parameters) { return take_back(pick<in>(parameters...)); }
};

Result succeed() { return kSuccess; }
Result refuse() { return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE; }

char driver_object[64];
char device_object[64];

template <class Handle>
Result one(std::uint32_t* count, Handle* handles, char* object) {
  if (*count != 0 && handles != nullptr) handles[0] = reinterpret_cast<Handle>(object);
  *count = 1;
  return kSuccess;
}

Result zeInit(ze_init_flags_t) { return kSuccess; }
Result zeDriverGet(std::uint32_t* count, ze_driver_handle_t* drivers) { return one(count, drivers, driver_object); }
Result zeInitDrivers(std::uint32_t* count, ze_driver_handle_t* drivers, void*) {
  return one(count, drivers, driver_object);
}
Result zeDriverGetProperties(ze_driver_handle_t, ze_driver_properties_t* properties) {
  properties->driverVersion = 1;
  return kSuccess;
}
Result zeDriverGetApiVersion(ze_driver_handle_t, ze_api_version_t* version) {
  *version = ZE_API_VERSION_1_4;
  return kSuccess;
}
Result zeDriverGetExtensionProperties(ze_driver_handle_t, std::uint32_t* count, ze_driver_extension_properties_t*) {
  *count = 0;
  return kSuccess;
}
Result zeDeviceGet(ze_driver_handle_t, std::uint32_t* count, ze_device_handle_t* devices) {
  return one(count, devices, device_object);
}
Result zeDeviceGetProperties(ze_device_handle_t, ze_device_properties_t* properties) {
  properties->type = ZE_DEVICE_TYPE_GPU;
  properties->vendorId = 0x8086;
  std::strcpy(properties->name, "Fake");
  return kSuccess;
}

Result allocate(Word size, Word place) {
  if (size > kMemory) return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
  return hand_out(place);
}
Result zeMemAllocDevice(Word, Word, Word size, Word, Word, Word place) {
  // A driver that starts a compiler of its own: the child comes back through the layer, too.
  if (size == 424242 && fork() == 0) return allocate(size, place);
  return allocate(size, place);
}
Result zeMemAllocHost(Word, Word, Word size, Word, Word place) { return allocate(size, place); }
Result zeMemAllocShared(Word, Word, Word, Word size, Word, Word, Word place) { return allocate(size, place); }

// The one handle that this driver knows to be wrong.
Result zeEventDestroy(Word event) {
  return event == 0xbad ? Result{ZE_RESULT_ERROR_INVALID_ARGUMENT} : event < 4096 ? kSuccess : take_back(event);
}

Result zexCounterBasedEventCreate2(Word, Word, Word, Word place) { return hand_out(place); }

Result zeDriverGetExtensionFunctionAddress(ze_driver_handle_t, const char* name, void** function) {
  if (std::strcmp(name, "zexCounterBasedEventCreate2") != 0) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  *function = address(&zexCounterBasedEventCreate2);
  return kSuccess;
}

#pragma GCC visibility push(default)
#include "fake_driver_tables.inc"
#pragma GCC visibility pop

}  // namespace fake
