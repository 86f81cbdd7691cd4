// SPDX-License-Identifier: Apache-2.0
// application MODE [COUNT]: a Level Zero program that creates, destroys and leaks a known number of resources, and then
// ends the way MODE says. Built twice: linked with the loader, and opening it (LEVEL_ZERO_DYNAMIC).
#include <dlfcn.h>
#include <level_zero/ze_api.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

namespace {

#ifdef LEVEL_ZERO_DYNAMIC
void* loader = nullptr;
#define API(name) reinterpret_cast<decltype(&name)>(dlsym(loader, #name))
#else
#define API(name) (&name)
#endif

void require(ze_result_t result, const char* what) {
  if (result == ZE_RESULT_SUCCESS) return;
  std::printf("%s: %#x\n", what, result);
  std::exit(3);
}

struct Session {
  ze_driver_handle_t driver = nullptr;
  ze_device_handle_t device = nullptr;
  ze_context_handle_t context = nullptr;
  ze_command_list_handle_t list = nullptr;
  ze_event_pool_handle_t pool = nullptr;
  ze_event_handle_t event = nullptr;
  decltype(&zeMemAllocDevice) allocate = nullptr;
  decltype(&zeMemFree) release = nullptr;
  decltype(&zeCommandListAppendBarrier) barrier = nullptr;

  void open() {
#ifdef LEVEL_ZERO_DYNAMIC
    loader = dlopen("libze_loader.so.1", RTLD_NOW);
    if (loader == nullptr) std::printf("%s\n", dlerror());
#endif
    require(API(zeInit)(0), "zeInit");
    std::uint32_t count = 1;
    require(API(zeDriverGet)(&count, &driver), "zeDriverGet");
    count = 1;
    require(API(zeDeviceGet)(driver, &count, &device), "zeDeviceGet");
    const ze_context_desc_t description = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
    require(API(zeContextCreate)(driver, &description, &context), "zeContextCreate");
    allocate = API(zeMemAllocDevice);
    release = API(zeMemFree);
    barrier = API(zeCommandListAppendBarrier);
  }

  void create_objects() {
    ze_command_queue_desc_t queue = {};
    queue.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
    require(API(zeCommandListCreateImmediate)(context, device, &queue, &list), "command list");
    const ze_event_pool_desc_t pool_description = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, nullptr, 0, 1};
    require(API(zeEventPoolCreate)(context, &pool_description, 0, nullptr, &pool), "event pool");
    const ze_event_desc_t event_description = {ZE_STRUCTURE_TYPE_EVENT_DESC, nullptr, 0, 0, 0};
    require(API(zeEventCreate)(pool, &event_description, &event), "event");
  }

  void destroy_objects() {
    require(API(zeEventDestroy)(event), "event");
    require(API(zeEventPoolDestroy)(pool), "event pool");
    require(API(zeCommandListDestroy)(list), "command list");
  }

  void destroy_context() { require(API(zeContextDestroy)(context), "context"); }

  ze_result_t try_allocate(std::size_t size, void** at) {
    const ze_device_mem_alloc_desc_t description = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0, 0};
    return allocate(context, &description, size, 64, device, at);
  }

  void allocate_and_free(int times) {
    for (int i = 0; i < times; ++i) {
      void* at = nullptr;
      require(try_allocate(4096, &at), "allocation");
      require(barrier(list, nullptr, 0, nullptr), "barrier");
      require(release(context, at), "free");
    }
  }
};

// Of this thread's processor time: what other programs do meanwhile is not measured.
double nanoseconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

}  // namespace

// Known to the tests by name: exported, and never inlined.
extern "C" __attribute__((visibility("default"), noinline)) void* leak_one(Session& session, std::size_t size) {
  void* at = nullptr;
  const ze_device_mem_alloc_desc_t description = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0, 0};
  require(session.allocate(session.context, &description, size, 64, session.device, &at), "leak");
  asm volatile("" ::: "memory");
  return at;
}

namespace {

void in_four_threads(Session& session, int times) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      session.allocate_and_free(times);
      leak_one(session, 4096);
    });
  for (std::thread& thread : threads) thread.join();
}

void wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) std::exit(4);
}

// Prints the median nanoseconds of a create or destroy, and of an append.
void measure(Session& session, int times) {
  std::vector<double> pair, append, untracked;
  for (int round = 0; round < 31; ++round) {
    const double begin = nanoseconds();
    for (int i = 0; i < times; ++i) {
      void* at = nullptr;
      session.try_allocate(4096, &at);
      session.release(session.context, at);
    }
    const double middle = nanoseconds();
    for (int i = 0; i < times; ++i) session.barrier(session.list, nullptr, 0, nullptr);
    const double end = nanoseconds();
    const auto query = API(zeEventQueryStatus);
    for (int i = 0; i < times; ++i) query(session.event);
    pair.push_back((middle - begin) / times / 2);
    append.push_back((end - middle) / times);
    untracked.push_back((nanoseconds() - end) / times);
  }
  std::printf("create/destroy %.1f append %.1f untracked %.1f\n", median(pair), median(append), median(untracked));
}

// The same in four threads at once; of a create or destroy only.
void measure_threads(Session& session, int times) {
  std::vector<double> all[4];
  std::vector<std::thread> threads;
  for (std::vector<double>& pair : all)
    threads.emplace_back([&session, &pair, times] {
      for (int round = 0; round < 31; ++round) {
        const double begin = nanoseconds();
        for (int i = 0; i < times; ++i) {
          void* at = nullptr;
          session.try_allocate(4096, &at);
          session.release(session.context, at);
        }
        pair.push_back((nanoseconds() - begin) / times / 2);
      }
    });
  for (std::thread& thread : threads) thread.join();
  std::vector<double> together;
  for (const std::vector<double>& pair : all) together.insert(together.end(), pair.begin(), pair.end());
  std::printf("threads %.1f\n", median(together));
}

int run(const std::string& mode, int count) {
  Session session;
  session.open();
  if (mode == "exec_after") {
    leak_one(session, 111);
    execl("/bin/true", "true", nullptr);
    return 5;
  }
  session.create_objects();
  std::vector<std::vector<char>> heap;
  if (mode == "measure") measure(session, count);
  if (mode == "wait") {  // until its standard input ends
    session.allocate_and_free(count);
    std::puts("ready");
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
  }
  if (mode == "measure_threads") measure_threads(session, count);
  if (mode == "threads") in_four_threads(session, count);
  if (mode == "fork") {
    leak_one(session, 1000);
    const pid_t child = fork();
    if (child == 0) {
      leak_one(session, 2000);
      leak_one(session, 3000);
      std::exit(0);
    }
    wait_for(child);
  }
  if (mode == "fork_in_threads") {
    std::vector<std::thread> threads;
    bool stop = false;
    for (int i = 0; i < 3; ++i)
      threads.emplace_back([&] {
        while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) session.allocate_and_free(100);
      });
    for (int i = 0; i < 50; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        leak_one(session, 2000);
        _exit(0);
      }
      wait_for(child);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    for (std::thread& thread : threads) thread.join();
  }
  if (mode == "fork_in_driver") {
    const pid_t parent = getpid();
    leak_one(session, 424242);
    if (getpid() != parent) {
      leak_one(session, 77);
      _exit(0);
    }
    int status = 0;
    wait(&status);
  }
  if (mode == "exec") {
    leak_one(session, 1000);
    const pid_t child = fork();
    if (child == 0) {
      execl("/bin/true", "true", nullptr);
      _exit(5);
    }
    wait_for(child);
  }
  if (mode == "errors")
    for (int i = 0; i < 3; ++i) {
      void* at = nullptr;
      if (session.try_allocate(std::size_t{1} << 50, &at) != ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY) return 6;
    }
  if (mode == "many") {
    std::vector<void*> all;
    for (int i = 0; i < count; ++i) all.push_back(leak_one(session, 16));
    // Every third stays.
    for (std::size_t i = 0; i < all.size(); ++i)
      if (i % 3 != 0) require(session.release(session.context, all[i]), "free");
  }
  if (mode == "full_table") {  // more at once than the tracker has entries for
    std::vector<void*> all;
    for (int i = 0; i < count; ++i) all.push_back(leak_one(session, 16));
    for (void* at : all) require(session.release(session.context, at), "free");
  }
  if (mode == "without_descriptors") {
    for (int fd = 3; fd < 1024; ++fd) close(fd);
    for (int i = 0; i < count; ++i) leak_one(session, 16);
  }
  if (mode == "wrong_destroys") {
    const auto destroy = API(zeEventDestroy);
    void* at = leak_one(session, 99);
    if (destroy(reinterpret_cast<ze_event_handle_t>(0xbad)) != ZE_RESULT_ERROR_INVALID_ARGUMENT) return 6;
    require(destroy(reinterpret_cast<ze_event_handle_t>(0xbee)), "a handle that never was");
    require(session.release(session.context, at), "free");
  }
  if (mode == "extension") {
    using Create = ze_result_t (*)(ze_context_handle_t, ze_device_handle_t, const void*, ze_event_handle_t*);
    void* address = nullptr;
    require(API(zeDriverGetExtensionFunctionAddress)(session.driver, "zexCounterBasedEventCreate2", &address),
            "address");
    ze_event_handle_t events[3] = {};
    for (ze_event_handle_t& event : events)
      require(reinterpret_cast<Create>(address)(session.context, session.device, nullptr, &event), "event");
    for (int i = 0; i < 2; ++i) require(API(zeEventDestroy)(events[i]), "event");
  }
  if (mode == "growing_heap") {
    // The program's own memory grows between calls that leak nothing, and is still there when the objects are
    // destroyed.
    for (int i = 0; i < 5; ++i) {
      leak_one(session, 100'000'000);
      heap.emplace_back(4'000'000, 'x');
      session.allocate_and_free(count);
    }
  }
  if (mode == "bad_argument") {
    const ze_event_pool_desc_t empty = {};
    ze_event_pool_handle_t pool = nullptr;
    std::printf("bad argument: %#x\n", API(zeEventPoolCreate)(session.context, &empty, 0, nullptr, &pool));
    if (pool != nullptr) require(API(zeEventPoolDestroy)(pool), "event pool");
  }
  if (mode == "module") {
    const ze_module_desc_t description = {};
    ze_module_handle_t module = nullptr;
    ze_module_build_log_handle_t log = nullptr;
    require(API(zeModuleCreate)(session.context, session.device, &description, &module, &log), "module");
    require(API(zeModuleCreate)(session.context, session.device, &description, &module, nullptr), "module");
    require(API(zeModuleBuildLogDestroy)(log), "log");
  }
  if (!mode.starts_with("measure") && mode != "threads" && mode != "many" && mode != "full_table")
    session.allocate_and_free(count);
  leak_one(session, 12345);
  session.destroy_objects();
  std::fflush(stdout);
  if (mode == "_exit") _exit(0);
  if (mode == "segv") raise(SIGSEGV);
  if (mode == "kill") raise(SIGKILL);
  if (mode == "abort") std::abort();
  session.destroy_context();
#ifdef LEVEL_ZERO_DYNAMIC
  if (mode == "dlclose") dlclose(loader);
#endif
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run(argc > 1 ? argv[1] : "plain", argc > 2 ? std::atoi(argv[2]) : 50); }
