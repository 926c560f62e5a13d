# Fails if SOURCE reads a file that belongs neither to shed, nor to the compiler, nor to the C and
# C++ standard libraries.
cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND ${COMPILER} -std=c++20 -M -I${INCLUDE} ${SOURCE}
                RESULT_VARIABLE result OUTPUT_VARIABLE rule ERROR_VARIABLE errors)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${errors}")
endif()
string(REGEX MATCHALL "[^ \\\n]+\\.h" files "${rule}")
list(LENGTH files count)
if(count LESS 10)
  message(FATAL_ERROR "too few headers were found; the scan is broken:\n${rule}")
endif()
foreach(file IN LISTS files)
  if(file MATCHES "/(absl|gtest|gmock|benchmark|CLI|nlohmann)/")
    message(SEND_ERROR "a header of core reads ${file}: core needs the standard library alone. Move the "
                       "include, or name the header in SHED_ABSEIL_HEADERS in CMakeLists.txt")
  endif()
endforeach()
