# What developers of shed compile with, and consumers never see: the target shed_dev.
set(SHED_SANITIZE "" CACHE STRING "Sanitizers of tests, examples and benchmarks: address,undefined or thread")

add_library(shed_dev INTERFACE)
target_compile_options(
  shed_dev INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
                     $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>)
if(SHED_SANITIZE)
  target_compile_options(
    shed_dev INTERFACE -fsanitize=${SHED_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(shed_dev INTERFACE -fsanitize=${SHED_SANITIZE})
endif()

# Compile commands are shared between build directories where ccache is installed.
find_program(SHED_CCACHE ccache)
mark_as_advanced(SHED_CCACHE)
if(SHED_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SHED_CCACHE})
endif()
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
