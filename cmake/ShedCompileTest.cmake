# Tests of what must not compile.
#
# shed_add_compile_test(<what>) takes <what>.cc in the current directory and makes two tests of it:
# compile_<what>_accept compiles it as it is, which must work and so proves that nothing but the
# fault is wrong with it; compile_<what>_reject compiles it with SHED_REJECT defined, which must
# fail with the words that the file's comment gives after "Rejected with:". The comment may go on
# over several lines; an empty one ends it. Where two compilers have no words in common the comment
# says "Rejected with (GNU):" and "Rejected with (Clang):".
if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(SHED_COMPILE_TEST_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
  function(shed_add_compile_test what)
    foreach(mode accept reject)
      add_test(NAME compile_${what}_${mode}
               COMMAND ${CMAKE_COMMAND} -D MODE=${mode} -D COMPILER=${CMAKE_CXX_COMPILER}
                       -D COMPILER_ID=${CMAKE_CXX_COMPILER_ID} -D INCLUDE=${PROJECT_SOURCE_DIR}/include
                       -D SOURCE=${CMAKE_CURRENT_SOURCE_DIR}/${what}.cc -P ${SHED_COMPILE_TEST_SCRIPT})
      set_tests_properties(compile_${what}_${mode} PROPERTIES LABELS compile TIMEOUT 120)
    endforeach()
  endfunction()
  return()
endif()

cmake_minimum_required(VERSION 3.25)

# Reads the words from the comment.
function(read_expected out)
  file(STRINGS ${SOURCE} lines)
  set(expected "")
  set(reading FALSE)
  foreach(line IN LISTS lines)
    if(line MATCHES "^// Rejected with( \\(${COMPILER_ID}\\))?: (.+)$")
      set(expected "${CMAKE_MATCH_2}")
      set(reading TRUE)
    elseif(reading AND line MATCHES "^// ([^ ].*)$" AND NOT line MATCHES "^// Rejected with")
      string(APPEND expected " ${CMAKE_MATCH_1}")
    else()
      set(reading FALSE)
    endif()
  endforeach()
  if(expected STREQUAL "")
    message(FATAL_ERROR "${SOURCE}: no comment \"Rejected with: ...\" for ${COMPILER_ID}")
  endif()
  set(${out} "${expected}" PARENT_SCOPE)
endfunction()

read_expected(expected)
set(ENV{LC_ALL} C)
if(MODE STREQUAL "reject")
  set(define -DSHED_REJECT)
endif()
execute_process(COMMAND ${COMPILER} -std=c++20 -fsyntax-only -I${INCLUDE} ${define} ${SOURCE}
                RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(MODE STREQUAL "accept")
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${SOURCE} without SHED_REJECT: should compile, but\n${output}")
  endif()
  return()
endif()
if(result EQUAL 0)
  message(FATAL_ERROR "${SOURCE} with SHED_REJECT: compiles, but should not")
endif()
string(FIND "${output}" "${expected}" position)
if(position EQUAL -1)
  message(FATAL_ERROR "${SOURCE} with SHED_REJECT: does not compile, as it should be, but not a word of\n"
                      "  ${expected}\nin\n${output}")
endif()
