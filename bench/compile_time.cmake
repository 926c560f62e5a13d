# What an include of shed costs a translation unit, beside one of the headers that it stands on:
# prints a table (what, base, shed, ratio, limit, ok).
#
#   cmake -D CXX=<compiler> -D "FLAGS=<flag>;..." -D INCLUDE=<directory of shed>
#         [-D "ABSEIL_INCLUDE=<directory>;..."] [-D REPETITIONS=7] -D OUT=<directory> -P <this file>
#
# Counts the compiler's user time, which other load of the machine changes least; each repetition
# compiles every unit once, so that what changes meanwhile changes both sides of a ratio; medians.
# The figures are of one machine and compiler, so nothing fails here.
cmake_minimum_required(VERSION 3.25)

foreach(variable CXX INCLUDE OUT)
  if(NOT DEFINED ${variable})
    message(FATAL_ERROR "want -D ${variable}=...")
  endif()
endforeach()
if(NOT DEFINED REPETITIONS)
  set(REPETITIONS 7)
endif()

# A compiler that is a link to ccache would measure ccache.
set(ENV{CCACHE_DISABLE} 1)
# The shell tells the user time of what it ran; bash to a millisecond, others to ten.
find_program(shell NAMES bash sh REQUIRED)

set(base_includes mutex chrono optional)
# The limiter, every policy and what they stand on: all that the umbrella has but what needs Abseil,
# and what comes on top.
file(STRINGS ${INCLUDE}/shed/shed.h core_includes REGEX "^#include \"shed/")
list(TRANSFORM core_includes REPLACE ".*\"(shed/[a-z0-9_]+\\.h)\".*" "\\1")
list(REMOVE_ITEM core_includes shed/any_guard.h shed/event_text.h shed/tsc_clock.h
     shed/admission_queue.h shed/admission_wait.h)
foreach(header IN LISTS core_includes)
  file(STRINGS ${INCLUDE}/${header} abseil REGEX "^#include \"absl/")
  if(abseil)
    list(REMOVE_ITEM core_includes ${header})
  endif()
endforeach()
if(NOT "shed/limiter.h" IN_LIST core_includes OR NOT "shed/rate_limiter.h" IN_LIST core_includes)
  message(FATAL_ERROR "no policies were found in ${INCLUDE}/shed/shed.h")
endif()
set(abseil_includes absl/container/flat_hash_map.h absl/status/statusor.h)
set(shed_includes shed/shed.h)

set(directories -I${INCLUDE})
foreach(directory IN LISTS ABSEIL_INCLUDE)
  list(APPEND directories -I${directory})
endforeach()

file(MAKE_DIRECTORY ${OUT})
set(units base core abseil shed)
foreach(unit IN LISTS units)
  list(TRANSFORM ${unit}_includes REPLACE "(.+)" "#include <\\1>\n" OUTPUT_VARIABLE lines)
  list(JOIN lines "" text)
  file(WRITE ${OUT}/${unit}.cc "${text}")
endforeach()

# Sets <result> to the microseconds of user time that compiling <unit> took.
function(measure unit result)
  execute_process(
    COMMAND ${shell} -c "\"$@\" || exit; times" sh ${CXX} -std=c++20 ${FLAGS} ${directories}
            -c ${OUT}/${unit}.cc -o ${OUT}/${unit}.o
    RESULT_VARIABLE failed OUTPUT_VARIABLE times ERROR_VARIABLE errors)
  # Two lines, the shell's own and its children's, each user and system: 0m0.384s 0m0.032s
  if(failed OR NOT times MATCHES "\n([0-9]+)m([0-9]+)[.]([0-9]+)s ")
    message(FATAL_ERROR "${unit}.cc was not compiled and measured:\n${times}${errors}")
  endif()
  set(minutes ${CMAKE_MATCH_1})
  set(seconds ${CMAKE_MATCH_2})
  string(SUBSTRING "${CMAKE_MATCH_3}000000" 0 6 micros)
  string(REGEX REPLACE "^0+(.)" "\\1" micros ${micros})
  math(EXPR taken "(${minutes} * 60 + ${seconds}) * 1000000 + ${micros}")
  set(${result} ${taken} PARENT_SCOPE)
endfunction()

# Sets <result> to <thousandths> written as a decimal number.
function(decimal thousandths result)
  math(EXPR whole "${thousandths} / 1000")
  math(EXPR rest "${thousandths} % 1000 + 1000")
  string(SUBSTRING ${rest} 1 3 rest)
  set(${result} "${whole}.${rest}" PARENT_SCOPE)
endfunction()

foreach(repetition RANGE 1 ${REPETITIONS})
  foreach(unit IN LISTS units)
    measure(${unit} taken)
    list(APPEND ${unit}_times ${taken})
  endforeach()
endforeach()
math(EXPR middle "${REPETITIONS} / 2")
foreach(unit IN LISTS units)
  list(SORT ${unit}_times COMPARE NATURAL)
  list(GET ${unit}_times ${middle} ${unit}_median)
endforeach()

function(pad text width result)
  string(LENGTH "${text}" length)
  math(EXPR missing "${width} - ${length}")
  if(missing GREATER 0)
    string(REPEAT " " ${missing} spaces)
    string(APPEND text "${spaces}")
  endif()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()
function(print_row what base shed ratio limit ok)
  set(line "")
  foreach(cell IN ITEMS "${what}:54" "${base}:9" "${shed}:9" "${ratio}:7" "${limit}:7" "${ok}:0")
    string(REGEX MATCH "^(.*):([0-9]+)$" ignored "${cell}")
    pad("${CMAKE_MATCH_1}" ${CMAKE_MATCH_2} cell)
    string(APPEND line "${cell}")
  endforeach()
  execute_process(COMMAND ${CMAKE_COMMAND} -E echo "${line}")
endfunction()
# The limit is in thousandths.
function(print_ratio what base_unit shed_unit limit)
  math(EXPR ratio "(${${shed_unit}_median} * 1000 + ${${base_unit}_median} / 2) / ${${base_unit}_median}")
  set(ok "ok")
  if(ratio GREATER limit)
    set(ok "missed")
  endif()
  foreach(unit base shed)
    math(EXPR millis "${${${unit}_unit}_median} / 1000")
    set(${unit} "${millis} ms")
  endforeach()
  decimal(${ratio} ratio)
  decimal(${limit} limit)
  print_row("${what}" "${base}" "${shed}" ${ratio} ${limit} ${ok})
endfunction()

print_row("what" "base" "shed" "ratio" "limit" "ok")
print_ratio("limiter.h and the policies / mutex, chrono, optional" base core 1500)
print_ratio("shed.h / absl flat_hash_map.h, statusor.h" abseil shed 1200)
