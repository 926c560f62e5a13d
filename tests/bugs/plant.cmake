# Plants one deliberate bug: cmake -D BUG=<file> -D INCLUDE=<directory> -D OUT=<directory> -P plant.cmake
#
# Writes OUT/shed/<header>, the header that BUG names with the bug in it; on the include path before
# INCLUDE it takes the place of the right one. Whatever is not as BUG says it is, is an error: a bug
# that is not there would be caught by nobody.
#
# BUG says what is wrong, then
#   in: <header below include/shed>
#   red: <regular expression that the output of the failing test matches>
#   --- is
#   <lines that stand there exactly once>
#   --- becomes
#   <lines>
#   --- end
cmake_minimum_required(VERSION 3.25)

# The text of BUG between two lines; each with its line end.
function(between out bug from to)
  string(FIND "${bug}" "\n${from}\n" begin)
  string(FIND "${bug}" "\n${to}\n" end)
  if(begin EQUAL -1 OR end EQUAL -1 OR end LESS begin)
    message(FATAL_ERROR "${BUG}: want a line \"${from}\" and, later, a line \"${to}\"")
  endif()
  string(LENGTH "\n${from}\n" length)
  math(EXPR begin "${begin} + ${length}")
  math(EXPR length "${end} + 1 - ${begin}")
  string(SUBSTRING "${bug}" ${begin} ${length} text)
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

file(READ ${BUG} bug)
if(NOT bug MATCHES "\nin: ([^\n]+)\n")
  message(FATAL_ERROR "${BUG}: want a line \"in: <header>\"")
endif()
set(header ${CMAKE_MATCH_1})
between(is "${bug}" "--- is" "--- becomes")
between(becomes "${bug}" "--- becomes" "--- end")

file(READ ${INCLUDE}/shed/${header} text)
string(LENGTH "${is}" length)
string(FIND "${text}" "${is}" first)
string(FIND "${text}" "${is}" last REVERSE)
if(length EQUAL 0 OR first EQUAL -1 OR NOT first EQUAL last)
  message(FATAL_ERROR "${BUG}: what it replaces does not stand exactly once in ${INCLUDE}/shed/${header}: "
                      "if the code has changed, plant the same bug in the new code")
endif()
string(REPLACE "${is}" "${becomes}" planted "${text}")
if(planted STREQUAL text)
  message(FATAL_ERROR "${BUG}: changes nothing")
endif()
file(WRITE ${OUT}/shed/${header} "${planted}")
