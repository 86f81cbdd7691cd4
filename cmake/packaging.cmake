# SPDX-License-Identifier: Apache-2.0
#
# The contents of a package besides the program, and the settings with which cpack builds .deb and .rpm (deploy/package/build).
set(package_dir "${PROJECT_SOURCE_DIR}/deploy/package")

# Homepage and maintainer, from the only file that has them: project_HOMEPAGE, project_MAINTAINER, project_EMAIL.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/deploy/project.env")
file(STRINGS "${PROJECT_SOURCE_DIR}/deploy/project.env" project_lines REGEX "^PROJECT_[A-Z]+=")
foreach(line IN LISTS project_lines)
  string(REGEX MATCH "^PROJECT_([A-Z]+)=(.*)$" line "${line}")
  set(project_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
endforeach()

# The man pages and the completions come from --help of the program that was just built, so they are never out of date.
find_package(Python3 COMPONENTS Interpreter)
set(described_dir "${PROJECT_BINARY_DIR}/described")
if(Python3_FOUND AND NOT IGPU_SANITIZE AND NOT IGPU_COVERAGE AND NOT IGPU_FUZZ)  # instrumented builds are not packaged
  set(described "${described_dir}/man/${PROJECT_NAME}.1" "${described_dir}/${PROJECT_NAME}.bash"
    "${described_dir}/_${PROJECT_NAME}" "${described_dir}/${PROJECT_NAME}.fish")
  file(MAKE_DIRECTORY "${described_dir}")
  add_custom_command(OUTPUT ${described}
    COMMAND "${Python3_EXECUTABLE}" "${package_dir}/describe" "$<TARGET_FILE:intel-gpu-exporter>" "${described_dir}"
      -- ${CMAKE_CROSSCOMPILING_EMULATOR}
    DEPENDS intel-gpu-exporter "${package_dir}/describe" VERBATIM COMMENT "Man pages and completions from --help")
  add_custom_target(described ALL DEPENDS ${described})
  # With one page for each command, whichever there are.
  install(DIRECTORY "${described_dir}/man/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT exporter)
  install(FILES "${described_dir}/${PROJECT_NAME}.bash" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
    RENAME "${PROJECT_NAME}" COMPONENT exporter)
  install(FILES "${described_dir}/_${PROJECT_NAME}" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions"
    COMPONENT exporter)
  install(FILES "${described_dir}/${PROJECT_NAME}.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d"
    COMPONENT exporter)
else()
  message(STATUS "No man page and no completions: no Python 3, or an instrumented build")
endif()

# Compiled-in code must ship with its licence: the original text, not a copy in this repository.
set(civetweb_license "as the package libcivetweb1 of this distribution states")
get_target_property(civetweb_folders civetweb::civetweb INTERFACE_INCLUDE_DIRECTORIES)
find_file(CIVETWEB_LICENSE LICENSE.md PATHS ${civetweb_folders} PATH_SUFFIXES .. NO_DEFAULT_PATH)
if(CIVETWEB_LICENSE)
  file(READ "${CIVETWEB_LICENSE}" civetweb_license)
  string(REGEX REPLACE "\nLua License\n.*" "" civetweb_license "${civetweb_license}")  # Lua and the rest are not compiled
  string(REGEX REPLACE "^.*\nCivetweb License\n-+\n+" "" civetweb_license "${civetweb_license}")
endif()
set(cli11_license "BSD-3-Clause")
if(EXISTS /usr/share/doc/libcli11-dev/copyright)
  file(READ /usr/share/doc/libcli11-dev/copyright cli11_license)
endif()
set(libarchive_license "BSD-2-Clause")
if(EXISTS /usr/share/doc/libarchive-dev/copyright)
  file(READ /usr/share/doc/libarchive-dev/copyright libarchive_license)
endif()
configure_file("${package_dir}/copyright.in" "${described_dir}/copyright" @ONLY)
install(FILES "${described_dir}/copyright" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT exporter)

install(FILES "${PROJECT_SOURCE_DIR}/deploy/systemd/${PROJECT_NAME}.service"
  "${PROJECT_SOURCE_DIR}/deploy/systemd/${PROJECT_NAME}.socket" DESTINATION "lib/systemd/system" COMPONENT exporter)
# Lowers kernel.perf_event_paranoid for the whole machine: no package does so unasked. Debian's asks.
install(FILES "${PROJECT_SOURCE_DIR}/deploy/systemd/60-${PROJECT_NAME}.conf" DESTINATION "${CMAKE_INSTALL_DATADIR}/${PROJECT_NAME}" COMPONENT exporter)
# The folder for the tracker's pages, and the group that reads them.
install(FILES "${PROJECT_SOURCE_DIR}/deploy/systemd/tmpfiles.conf" DESTINATION "lib/tmpfiles.d"
  RENAME "${PROJECT_NAME}.conf" COMPONENT exporter)
install(FILES "${PROJECT_SOURCE_DIR}/deploy/systemd/sysusers.conf" DESTINATION "lib/sysusers.d"
  RENAME "${PROJECT_NAME}.conf" COMPONENT exporter)
install(FILES "${PROJECT_SOURCE_DIR}/README.md" "${PROJECT_SOURCE_DIR}/collectors/METRICS.md" "${PROJECT_SOURCE_DIR}/LICENSE"
  "${PROJECT_SOURCE_DIR}/CHANGELOG.md" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT exporter)
# Files for Prometheus and Grafana, and documentation. The context of an image build lacks some of them.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/deploy/prometheus/rules" DESTINATION "${CMAKE_INSTALL_DATADIR}/${PROJECT_NAME}/prometheus"
  COMPONENT exporter FILES_MATCHING PATTERN "*.yml")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/grafana" DESTINATION "${CMAKE_INSTALL_DATADIR}/${PROJECT_NAME}"
  COMPONENT exporter FILES_MATCHING PATTERN "*.json")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/deploy/prometheus" DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples"
  COMPONENT exporter FILES_MATCHING PATTERN "*.yml" PATTERN rules EXCLUDE)
if(EXISTS "${PROJECT_SOURCE_DIR}/docs")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" DESTINATION "${CMAKE_INSTALL_DOCDIR}"
    COMPONENT exporter FILES_MATCHING PATTERN "*.md" PATTERN "*.json" PATTERN "*.pftrace" PATTERN images EXCLUDE PATTERN launch EXCLUDE)
endif()
# intel_gpu_top, by that name: in a folder of its own, so that it never collides with intel-gpu-tools. Component dropin
# has it in the folder of programs.
set(link_dir "${described_dir}/links")
file(MAKE_DIRECTORY "${link_dir}/own" "${link_dir}/man")
file(CREATE_LINK "../../../${CMAKE_INSTALL_BINDIR}/${PROJECT_NAME}" "${link_dir}/own/intel_gpu_top" SYMBOLIC)
file(CREATE_LINK "${PROJECT_NAME}" "${link_dir}/intel_gpu_top" SYMBOLIC)
file(CREATE_LINK "${PROJECT_NAME}-intel_gpu_top.1.gz" "${link_dir}/man/intel_gpu_top.1.gz" SYMBOLIC)
install(FILES "${link_dir}/own/intel_gpu_top" DESTINATION "lib/${PROJECT_NAME}/bin" COMPONENT exporter)
install(FILES "${link_dir}/intel_gpu_top" DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT dropin EXCLUDE_FROM_ALL)
install(FILES "${link_dir}/man/intel_gpu_top.1.gz" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT dropin EXCLUDE_FROM_ALL)

# Below the prefix unless cpack moves it: a manual installation puts no file into /etc.
install(FILES "${package_dir}/${PROJECT_NAME}.default" DESTINATION "${CMAKE_INSTALL_DATADIR}/${PROJECT_NAME}"
  COMPONENT exporter)

# --- cpack ------------------------------------------------------------------------------------------------------------
set(CPACK_PACKAGE_NAME "${PROJECT_NAME}")
set(CPACK_PACKAGE_VERSION "${IGPU_PACKAGE_VERSION}")
set(CPACK_PACKAGE_VENDOR "${PROJECT_NAME}")
set(CPACK_PACKAGE_CONTACT "${project_MAINTAINER} <${project_EMAIL}>")
set(CPACK_PACKAGE_HOMEPAGE_URL "${project_HOMEPAGE}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION "\
Reads the kernel's own interfaces (i915 and xe perf PMUs, sysfs, hwmon, RAPL,
DRM queries and fdinfo) and serves what every engine, frequency, watt, byte and
process of an Intel GPU is doing, as Prometheus text and OpenMetrics.
The service runs as a user of its own with two capabilities.")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL exporter)  # more of them by generator
set(CPACK_PROJECT_CONFIG_FILE "${PROJECT_SOURCE_DIR}/cmake/packaging_components.cmake")
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB RPM)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/packaging_stage.cmake")
# The stage script turns this into changelog.Debian.
set(CPACK_IGPU_DATE "${IGPU_REVISION_DATE}")
set(CPACK_IGPU_PACKAGE_DIR "${package_dir}")
set(CPACK_IGPU_SHARED "${IGPU_SHARED}")
set(CPACK_IGPU_LIBDIR "${CMAKE_INSTALL_LIBDIR}")

# For another architecture: dpkg's own answers are about this machine.
if(CMAKE_CROSSCOMPILING)
  set(CPACK_IGPU_SYSROOT "${CMAKE_SYSROOT}")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
  set(CPACK_RPM_PACKAGE_ARCHITECTURE aarch64)
endif()

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
if(NOT CMAKE_CROSSCOMPILING)  # else: packaging_stage.cmake
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_EXPORTER_PACKAGE_CONTROL_EXTRA "${package_dir}/debian/conffiles" "${package_dir}/debian/config"
  "${package_dir}/debian/templates" "${package_dir}/debian/postinst" "${package_dir}/debian/prerm" "${package_dir}/debian/postrm")
set(CPACK_DEBIAN_EXPORTER_PACKAGE_DEPENDS "debconf (>= 0.5) | debconf-2.0")
set(CPACK_DEBIAN_EXPORTER_PACKAGE_NAME "${PROJECT_NAME}")
# Only `top` uses ncurses and libcurl, and loads them itself.
set(CPACK_DEBIAN_EXPORTER_PACKAGE_RECOMMENDS "pci.ids, libncursesw6, libcurl4 | libcurl4t64")
set(CPACK_DEBIAN_EXPORTER_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION_SUMMARY}\n${CPACK_PACKAGE_DESCRIPTION}")

# intel_gpu_top in /usr/bin, for callers that do not search a path.
set(dropin_summary "intel_gpu_top of intel-gpu-exporter")
set(dropin_description "\
Engines, frequency, power and clients of an Intel GPU under the i915 and xe
drivers, with the flags and the output of intel_gpu_top, for programs that
call it.")
set(CPACK_DEBIAN_DROPIN_PACKAGE_NAME "${PROJECT_NAME}-intel-gpu-top")
set(CPACK_DEBIAN_DROPIN_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_DROPIN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_DROPIN_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DROPIN_PACKAGE_DEPENDS "${PROJECT_NAME} (>= ${PROJECT_VERSION}~)")
set(CPACK_DEBIAN_DROPIN_PACKAGE_CONFLICTS intel-gpu-tools)
set(CPACK_DEBIAN_DROPIN_DESCRIPTION "${dropin_summary}\n${dropin_description}")

# The library: libigpu0.1 and libigpu-dev.
set(library_description "\
Engine load, frequency, power, temperature, memory and processes of Intel GPUs
under the i915 and xe drivers, for C and C++ programs, from the kernel's own
interfaces.")
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME "libigpu${IGPU_ABI_VERSION}")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS pci.ids)
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION "reading Intel GPUs from programs - shared library\n${library_description}")
configure_file("${package_dir}/debian/shlibs.in" "${described_dir}/shlibs" @ONLY)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA "${described_dir}/shlibs" "${package_dir}/debian/triggers")
set(CPACK_COMPONENT_DEVELOPMENT_DEPENDS runtime)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libigpu-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
# What programs that link the static library link as well.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "prometheus-cpp-dev")
if(IGPU_HAS_BPF)
  string(APPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ", libbpf-dev")
endif()
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "\
reading Intel GPUs from programs - headers and static library\n${library_description}
CMake: find_package(igpu); pkg-config: igpu.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-igpu)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3, libigpu${IGPU_ABI_VERSION} (>= ${PROJECT_VERSION}~)")
set(CPACK_DEBIAN_PYTHON_DESCRIPTION "reading Intel GPUs from programs - Python\n${library_description}")

set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_RELEASE 1)
set(CPACK_RPM_PACKAGE_LICENSE Apache-2.0)
set(CPACK_RPM_PACKAGE_GROUP System/Monitoring)
set(CPACK_RPM_PACKAGE_RELOCATABLE OFF)
set(CPACK_RPM_MAIN_COMPONENT exporter)
set(CPACK_RPM_EXPORTER_PACKAGE_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}")
set(CPACK_RPM_EXPORTER_PACKAGE_REQUIRES_POST systemd)
set(CPACK_RPM_EXPORTER_PACKAGE_REQUIRES_PREUN systemd)
set(CPACK_RPM_EXPORTER_PACKAGE_REQUIRES_POSTUN systemd)
set(CPACK_RPM_DROPIN_PACKAGE_NAME "${PROJECT_NAME}-intel-gpu-top")
set(CPACK_RPM_DROPIN_PACKAGE_ARCHITECTURE noarch)
set(CPACK_RPM_DROPIN_PACKAGE_SUMMARY "${dropin_summary}")
set(CPACK_RPM_DROPIN_PACKAGE_DESCRIPTION "${dropin_description}")
set(CPACK_RPM_DROPIN_PACKAGE_REQUIRES "${PROJECT_NAME} >= ${PROJECT_VERSION}~")
set(CPACK_RPM_DROPIN_PACKAGE_CONFLICTS "igt-gpu-tools, intel-gpu-tools")  # it has had both names
# Reproducible at any time and in any folder: deploy/package/build sets SOURCE_DATE_EPOCH.
set(CPACK_RPM_SPEC_MORE_DEFINE "%define _buildhost reproducible
%define use_source_date_epoch_as_buildtime 1
%define clamp_mtime_to_source_date_epoch 1
%global __provides_exclude_from ^/usr/lib/intel-gpu-exporter/.*$")  # the tracker is no validation layer for other packages
set(CPACK_RPM_EXPORTER_POST_INSTALL_SCRIPT_FILE "${package_dir}/rpm/post")
set(CPACK_RPM_EXPORTER_PRE_UNINSTALL_SCRIPT_FILE "${package_dir}/rpm/preun")
set(CPACK_RPM_EXPORTER_POST_UNINSTALL_SCRIPT_FILE "${package_dir}/rpm/postun")
set(CPACK_RPM_EXPORTER_USER_FILELIST "%config(noreplace) /etc/default/${PROJECT_NAME}")
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION
  /etc /etc/default /usr/lib/systemd /usr/lib/systemd/system /usr/lib/tmpfiles.d /usr/lib/sysusers.d /usr/share/bash-completion
  /usr/share/bash-completion/completions /usr/share/zsh /usr/share/zsh/site-functions /usr/share/fish
  /usr/share/fish/vendor_completions.d /usr/share/licenses /usr/share/man /usr/share/man/man1)
include(CPack)
