# Runs a test that a bug was planted for: cmake -D BUG=<file> -D TEST=<binary> -P expect_red.cmake
#
# Passes if the test fails, and with the words that BUG expects. A test that fails for another reason
# has not caught the bug.
cmake_minimum_required(VERSION 3.25)

file(STRINGS ${BUG} expected REGEX "^red: ")
string(REGEX REPLACE "^red: " "" expected "${expected}")
if(expected STREQUAL "")
  message(FATAL_ERROR "${BUG}: want a line \"red: <regular expression>\"")
endif()

execute_process(COMMAND ${CMAKE_COMMAND} -E env GTEST_FAIL_FAST=1 ${TEST}
                RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(result STREQUAL "0")
  message(FATAL_ERROR "${TEST} passes with the bug in it:\n${output}")
endif()
if(NOT output MATCHES "${expected}")
  message(FATAL_ERROR "${TEST} fails (${result}), but not with \"${expected}\":\n${output}")
endif()
message(STATUS "red, as it should be: ${CMAKE_MATCH_0}")
