# What the project's own tests, examples and benchmarks are built with, and nobody else.

option(PENSTOCK_WERROR "Treat warnings in our own programs as errors" OFF)
set(PENSTOCK_SANITIZE "" CACHE STRING "Sanitizers for our own programs, as -fsanitize= takes them: address,undefined")

# The library is C++20; -DCMAKE_CXX_STANDARD=23 builds our own programs as C++23.
if(NOT DEFINED CMAKE_CXX_STANDARD)
  set(CMAKE_CXX_STANDARD 20)
endif()
if(NOT DEFINED CMAKE_CXX_EXTENSIONS)
  set(CMAKE_CXX_EXTENSIONS OFF)
endif()

# Tests of millions of steps are made for optimised code: also where somebody configures without a preset.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

set(penstock_warning_flags -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
add_library(penstock_warnings INTERFACE)
target_compile_options(penstock_warnings INTERFACE ${penstock_warning_flags} $<$<BOOL:${PENSTOCK_WERROR}>:-Werror>)

add_library(penstock_sanitizers INTERFACE)
if(PENSTOCK_SANITIZE)
  set(sanitizer_flags "-fsanitize=${PENSTOCK_SANITIZE}" -fno-sanitize-recover=all)
  target_compile_options(penstock_sanitizers INTERFACE ${sanitizer_flags} -fno-omit-frame-pointer)
  target_link_options(penstock_sanitizers INTERFACE ${sanitizer_flags})
endif()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

# penstock_link(target): links what each of our own programs gets.
function(penstock_link target)
  target_link_libraries(${target} PRIVATE penstock::penstock penstock_warnings penstock_sanitizers Threads::Threads)
endfunction()
