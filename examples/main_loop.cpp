// SPDX-License-Identifier: Apache-2.0
//
// Readings in a GLib main loop, as in a GTK or GStreamer program; no thread.         main_loop [SIMULATED MACHINE]
#include <glib-unix.h>
#include <igpu/gpu.h>
#include <igpu/sampling.h>

#include <chrono>
#include <iostream>

namespace {

struct Program {
  igpu::SampleTimer timer;
  GMainLoop* loop;
  int readings = 0;
};

gboolean on_readable(int, GIOCondition, void* data) {
  Program& program = *static_cast<Program*>(data);
  try {
    if (const auto now = program.timer.read()) {
      if (const auto busy = now->busy(igpu::EngineClass::render))
        std::cout << "render: " << 100 * busy->value << " %\n";
      if (++program.readings == 5) g_main_loop_quit(program.loop);
    }
  } catch (const igpu::GpuError& error) {  // GLib is C: no exception may get through it
    std::cerr << error.what() << "; " << error.hint() << "\n";
    g_main_loop_quit(program.loop);
  }
  return G_SOURCE_CONTINUE;
}

}  // namespace

int main(int argc, char** argv) {
  igpu::GpuOptions options;
  if (argc > 1) options.simulate = argv[1];
  try {
    Program program{igpu::SampleTimer(igpu::Gpu::detect(options), std::chrono::milliseconds(100)),
                    g_main_loop_new(nullptr, FALSE)};
    const guint source = g_unix_fd_add(program.timer.descriptor(), G_IO_IN, on_readable, &program);
    g_main_loop_run(program.loop);
    g_source_remove(source);
    g_main_loop_unref(program.loop);
    std::cout << program.readings << " readings\n";
    return program.readings == 5 ? 0 : 1;
  } catch (const igpu::GpuError& error) {
    std::cerr << error.what() << "; " << error.hint() << "\n";
    return 1;
  }
}
