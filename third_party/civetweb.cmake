# Makes the target igpu_civetweb. Debian's binary was built for OpenSSL 1.1 and crashes at the first TLS client, and has
# neither IPv6 nor UNIX sockets: so its source (one C file) is compiled here, without file serving, CGI and caching.
set(CIVETWEB_SOURCE_DIR "" CACHE PATH "CivetWeb 1.15 source tree; empty: Debian's source package is fetched")

if(SYSTEM_CIVETWEB)
  find_library(IGPU_CIVETWEB_LIBRARY civetweb REQUIRED)
  find_path(IGPU_CIVETWEB_INCLUDE civetweb.h REQUIRED)
  add_library(igpu_civetweb INTERFACE)
  target_include_directories(igpu_civetweb SYSTEM INTERFACE ${IGPU_CIVETWEB_INCLUDE})
  target_link_libraries(igpu_civetweb INTERFACE ${IGPU_CIVETWEB_LIBRARY})
else()
  set(igpu_civetweb_source "${CIVETWEB_SOURCE_DIR}")
  if(NOT igpu_civetweb_source)
    execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/fetch-civetweb
      OUTPUT_VARIABLE igpu_civetweb_source OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
    if(failed)
      message(FATAL_ERROR "CivetWeb's source could not be fetched: give -DCIVETWEB_SOURCE_DIR=<civetweb 1.15>, "
                          "or -DSYSTEM_CIVETWEB=ON for the installed library")
    endif()
  endif()
  add_library(igpu_civetweb STATIC ${igpu_civetweb_source}/src/civetweb.c)
  target_include_directories(igpu_civetweb SYSTEM PUBLIC ${igpu_civetweb_source}/include)
  target_compile_definitions(igpu_civetweb PRIVATE
    NO_FILES NO_CGI NO_CACHING NO_SSL_DL OPENSSL_API_3_0 USE_IPV6 USE_X_DOM_SOCKET)
  target_compile_options(igpu_civetweb PRIVATE -w -O2)
  target_link_libraries(igpu_civetweb PUBLIC OpenSSL::SSL OpenSSL::Crypto Threads::Threads)
endif()
add_library(civetweb::ours ALIAS igpu_civetweb)
