# SPDX-License-Identifier: Apache-2.0
#
# Defines civetweb::civetweb, the HTTP server.
#
#   -DCIVETWEB_SOURCE_DIR=FOLDER   compile the source that lies there
#   (nothing)                      compile the source that third_party/fetch-civetweb fetches
#   -DSYSTEM_CIVETWEB=ON           link the installed library, with whatever it was built for
#
# Only the C file is compiled. What this program must never do (serve files, run CGI programs, start processes, cache)
# is not compiled in; what Debian's build lacks (IPv6, UNIX sockets, OpenSSL 3) is.
option(SYSTEM_CIVETWEB "Link the installed CivetWeb instead of compiling it" OFF)
set(CIVETWEB_SOURCE_DIR "" CACHE PATH "CivetWeb's source; empty: fetched from Debian's source package")

if(SYSTEM_CIVETWEB)
  find_path(CIVETWEB_INCLUDE_DIR civetweb.h REQUIRED)
  find_library(CIVETWEB_LIBRARY civetweb REQUIRED)
  add_library(civetweb::civetweb UNKNOWN IMPORTED GLOBAL)
  set_target_properties(civetweb::civetweb PROPERTIES
    IMPORTED_LOCATION "${CIVETWEB_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${CIVETWEB_INCLUDE_DIR}")
  return()
endif()

set(source_dir "${CIVETWEB_SOURCE_DIR}")
if(NOT source_dir)
  execute_process(COMMAND "${CMAKE_CURRENT_LIST_DIR}/fetch-civetweb"
    OUTPUT_VARIABLE source_dir OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "CivetWeb's source is not here and could not be fetched (see above).")
  endif()
endif()
if(NOT EXISTS "${source_dir}/src/civetweb.c")
  message(FATAL_ERROR "CIVETWEB_SOURCE_DIR: no src/civetweb.c in ${source_dir}")
endif()

# Three corrections to 1.15, all about UNIX sockets: the terminating zero of a client's address was written one byte behind
# the buffer; a path with a digit before an "s" or "r" (/run/gpu0s) was taken for a port with TLS, which then lacked its
# certificate; and a path was taken for a host name when a colon followed anywhere later in the list of addresses.
file(READ "${source_dir}/src/civetweb.c" civetweb_code)
string(REPLACE "buf[len] = 0;" "buf[len - 1] = 0;" civetweb_code "${civetweb_code}")
string(REPLACE "if (prevIsNumber && (ports[i] == 's' || ports[i] == 'r')) {"
  "if (ports[i] == 'x' && (i == 0 || ports[i - 1] == ',')) { i += (int)strcspn(ports + i, \",\") - 1; prevIsNumber = 0; continue; }
   if (prevIsNumber && (ports[i] == 's' || ports[i] == 'r')) {" civetweb_code "${civetweb_code}")
string(REPLACE "} else if ((cb = strchr(vec->ptr, ':')) != NULL) {"
  "} else if (strncmp(vec->ptr, \"x/\", 2) != 0 && (cb = strchr(vec->ptr, ':')) != NULL) {" civetweb_code "${civetweb_code}")
# And one about threads: the flag that ends them was read and written without any order between them.
string(REPLACE "#define STOP_FLAG_IS_ZERO(f) ((*(f)) == 0)" "#define STOP_FLAG_IS_ZERO(f) (__atomic_load_n((f), __ATOMIC_SEQ_CST) == 0)"
  civetweb_code "${civetweb_code}")
string(REPLACE "#define STOP_FLAG_IS_TWO(f) ((*(f)) == 2)" "#define STOP_FLAG_IS_TWO(f) (__atomic_load_n((f), __ATOMIC_SEQ_CST) == 2)"
  civetweb_code "${civetweb_code}")
string(REPLACE "#define STOP_FLAG_ASSIGN(f, v) ((*(f)) = (v))" "#define STOP_FLAG_ASSIGN(f, v) (__atomic_store_n((f), (v), __ATOMIC_SEQ_CST))"
  civetweb_code "${civetweb_code}")
# The exporter accepts connections itself and hands whole requests in (civetweb_adopt.c).
string(REPLACE "list = phys_ctx->dd.config[LISTENING_PORTS];"
  "list = phys_ctx->dd.config[LISTENING_PORTS];
   if (list != NULL && strcmp(list, \"nowhere\") == 0) { return igpu_listen_nowhere(phys_ctx); }"
  civetweb_code "${civetweb_code}")
# Its idle workers are called last in, first out (civetweb_adopt.c), so that a few do the work and their memory stays warm
# while the others are reserve. The condition variable that served them in turn is gone: a use of it left over does not compile.
string(REPLACE "pthread_cond_t sq_full;" "struct igpu_idle_worker *idle_workers;" civetweb_code "${civetweb_code}")
string(REPLACE "pthread_cond_wait(&ctx->sq_full, &ctx->thread_mutex);" "igpu_wait_for_socket(ctx);" civetweb_code "${civetweb_code}")
string(REPLACE "(void)pthread_cond_signal(&ctx->sq_full);" "(void)igpu_call_idle_worker(ctx);" civetweb_code "${civetweb_code}")
string(REPLACE "pthread_cond_broadcast(&ctx->sq_full);" "while (igpu_call_idle_worker(ctx)) {}" civetweb_code "${civetweb_code}")
string(REPLACE "(void)pthread_cond_destroy(&ctx->sq_full);" "" civetweb_code "${civetweb_code}")
string(REPLACE "ok &= (0 == pthread_cond_init(&ctx->sq_full, NULL));" "" civetweb_code "${civetweb_code}")
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/third_party/civetweb/civetweb.c" CONTENT "@civetweb_code@" @ONLY)
unset(civetweb_code)

find_package(Threads REQUIRED)
add_library(civetweb STATIC "${CMAKE_CURRENT_LIST_DIR}/civetweb_adopt.c")
set_property(SOURCE "${CMAKE_CURRENT_LIST_DIR}/civetweb_adopt.c" APPEND PROPERTY
  OBJECT_DEPENDS "${CMAKE_BINARY_DIR}/third_party/civetweb/civetweb.c")
add_library(civetweb::civetweb ALIAS civetweb)
igpu_target_settings(civetweb)
target_compile_features(civetweb PRIVATE c_std_11)
target_compile_options(civetweb PRIVATE -w)
if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
  # The same source gives the same bytes: neither the folder of the source nor the day of the build is in what is shipped.
  target_compile_options(civetweb PRIVATE "-ffile-prefix-map=${source_dir}=civetweb" "-D__DATE__=\"\"" "-D__TIME__=\"\"")
endif()
# OpenSSL is loaded when the first TLS port is opened, not linked: two megabytes of memory that plain HTTP does without.
# Where it is missing, mg_init_library() answers without its TLS flag, which is looked at in any case.
target_compile_definitions(civetweb PRIVATE
  NO_FILES NO_CGI NO_CACHING NO_POPEN USE_IPV6 USE_X_DOM_SOCKET
  OPENSSL_API_3_0 SSL_LIB="libssl.so.3" CRYPTO_LIB="libcrypto.so.3")
target_compile_definitions(civetweb PUBLIC IGPU_CIVETWEB_ADOPTS)
target_include_directories(civetweb SYSTEM PUBLIC "${source_dir}/include")
target_include_directories(civetweb PUBLIC "${CMAKE_CURRENT_LIST_DIR}")
target_include_directories(civetweb PRIVATE "${CMAKE_BINARY_DIR}/third_party/civetweb" "${source_dir}/src")
target_link_libraries(civetweb PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
