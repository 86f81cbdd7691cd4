# Where the packages come from; third_party/README.md says why each is used.
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
# Only the core is used: the data model and Collectable. Its package file also looks for the pull library's dependencies.
find_package(prometheus-cpp CONFIG REQUIRED)
include(${CMAKE_CURRENT_LIST_DIR}/civetweb.cmake)
