# SPDX-License-Identifier: Apache-2.0
#
# cpack runs this for each generator on the collected files, before it packs them: moves what Debian and the RPM
# distributions have in different places, and compresses what they want compressed.
file(GLOB_RECURSE binary "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${CPACK_PACKAGE_NAME}")
list(FILTER binary INCLUDE REGEX "/usr/bin/[^/]+$")
list(LENGTH binary found)
if(NOT found EQUAL 1)
  message(FATAL_ERROR "One program is expected below ${CPACK_TEMPORARY_INSTALL_DIRECTORY}, not: ${binary}")
endif()
cmake_path(GET binary PARENT_PATH usr)
cmake_path(GET usr PARENT_PATH usr)
cmake_path(GET usr PARENT_PATH root)
set(share "${usr}/share")
set(doc "${share}/doc/${CPACK_PACKAGE_NAME}")

function(compress file)
  execute_process(COMMAND gzip -9nf "${file}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(MAKE_DIRECTORY "${root}/etc/default")
file(RENAME "${share}/${CPACK_PACKAGE_NAME}/${CPACK_PACKAGE_NAME}.default" "${root}/etc/default/${CPACK_PACKAGE_NAME}")
file(GLOB pages "${share}/man/man1/*.1")
foreach(page IN LISTS pages)
  compress("${page}")
endforeach()

if(CPACK_GENERATOR STREQUAL "DEB")
  # Debian 12's tools search for units in /lib.
  file(MAKE_DIRECTORY "${root}/lib")
  file(RENAME "${usr}/lib/systemd" "${root}/lib/systemd")
  file(REMOVE "${doc}/LICENSE")  # Debian has it in /usr/share/common-licenses
  file(RENAME "${doc}/CHANGELOG.md" "${doc}/changelog")
  compress("${doc}/changelog")

  if(DEFINED ENV{SOURCE_DATE_EPOCH})
    set(date --utc --date "@$ENV{SOURCE_DATE_EPOCH}")
  elseif(CPACK_IGPU_DATE)
    set(date --date "${CPACK_IGPU_DATE}")
  endif()
  execute_process(COMMAND date -R ${date} OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  # debian_changelog(FOLDER PACKAGE WHERE)
  function(debian_changelog folder package where)
    file(WRITE "${folder}/changelog.Debian"
      "${package} (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium\n\n"
      "  * Built from upstream; ${where} says what is new.\n\n"
      " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
    compress("${folder}/changelog.Debian")
  endfunction()
  debian_changelog("${doc}" "${CPACK_PACKAGE_NAME}" changelog.gz)

  # dpkg-shlibdeps, which cpack runs only with what dpkg knows of this machine.
  if(CPACK_IGPU_SYSROOT)
    file(MAKE_DIRECTORY "${root}/debian")
    file(WRITE "${root}/debian/control" "Source: ${CPACK_PACKAGE_NAME}\n\nPackage: ${CPACK_PACKAGE_NAME}\nArchitecture: any\n")
    execute_process(COMMAND "${CMAKE_COMMAND}" -E env "DEB_HOST_ARCH=${CPACK_DEBIAN_PACKAGE_ARCHITECTURE}"
      dpkg-shlibdeps "-S${CPACK_IGPU_SYSROOT}" -O "${binary}"
      WORKING_DIRECTORY "${root}" OUTPUT_VARIABLE depends OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    file(REMOVE_RECURSE "${root}/debian")
    string(REGEX REPLACE "^shlibs:Depends=" "" depends "${depends}")
    string(APPEND CPACK_DEBIAN_EXPORTER_PACKAGE_DEPENDS ", ${depends}")
  endif()

  # The packages beside it.
  foreach(component IN LISTS CPACK_COMPONENTS_ALL)
    if(component STREQUAL exporter)
      continue()
    endif()
    string(TOUPPER "${component}" upper)
    set(package "${CPACK_DEBIAN_${upper}_PACKAGE_NAME}")
    cmake_path(GET root PARENT_PATH components)
    set(component_doc "${components}/${component}/usr/share/doc/${package}")
    file(MAKE_DIRECTORY "${component_doc}")
    file(COPY_FILE "${CPACK_IGPU_PACKAGE_DIR}/copyright.library" "${component_doc}/copyright")
    debian_changelog("${component_doc}" "${package}" "CHANGELOG.md of intel-gpu-exporter")
    # cpack strips programs and shared libraries only.
    file(GLOB archives "${components}/${component}/usr/${CPACK_IGPU_LIBDIR}/*.a")
    foreach(archive IN LISTS archives)
      execute_process(COMMAND strip --strip-debug --enable-deterministic-archives "${archive}" COMMAND_ERROR_IS_FATAL ANY)
    endforeach()
  endforeach()
else()
  file(MAKE_DIRECTORY "${share}/zsh/site-functions" "${share}/licenses/${CPACK_PACKAGE_NAME}")
  file(RENAME "${share}/zsh/vendor-completions/_${CPACK_PACKAGE_NAME}" "${share}/zsh/site-functions/_${CPACK_PACKAGE_NAME}")
  file(REMOVE_RECURSE "${share}/zsh/vendor-completions")
  file(RENAME "${doc}/LICENSE" "${share}/licenses/${CPACK_PACKAGE_NAME}/LICENSE")
endif()
