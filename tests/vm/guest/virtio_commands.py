# SPDX-License-Identifier: Apache-2.0
"""virtio_commands.py N: prints its PID; QEMU's virtio-gpu executes N commands with a fence, each submitted when the one
before it has ended. The kernel's ioctls (virtgpu_drm.h): each command creates a texture on the host."""

import fcntl
import glob
import os
import struct
import sys

RESOURCE_CREATE = 0xC0386444  # DRM_IOWR(0x44), 14 numbers
WAIT = 0xC0086448             # DRM_IOWR(0x48), 2 numbers
TEXTURE_2D, B8G8R8A8, SIDE = 2, 1, 64


def render_node():
    for node in glob.glob("/sys/class/drm/renderD*"):
        if "virtio" in os.path.realpath(f"{node}/device/driver"):
            return "/dev/dri/" + os.path.basename(node)
    raise SystemExit("no virtio-gpu")


print(os.getpid())
with open(render_node(), "rb+", buffering=0) as gpu:
    for _ in range(int(sys.argv[1])):
        # target, format, bind, width, height, depth, layers, levels, samples, flags, buffer, resource, size, stride
        request = bytearray(struct.pack("14I", TEXTURE_2D, B8G8R8A8, 2, SIDE, SIDE, 1, 1, 0, 0, 0, 0, 0, SIDE * SIDE * 4,
                                        SIDE * 4))
        fcntl.ioctl(gpu, RESOURCE_CREATE, request)
        handle = struct.unpack("14I", request)[10]
        fcntl.ioctl(gpu, WAIT, bytearray(struct.pack("2I", handle, 0)))
