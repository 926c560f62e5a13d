# One step of the package tests; see CMakeLists.txt.
cmake_minimum_required(VERSION 3.25)

# A user's environment, not ours.
foreach(variable CXXFLAGS CPPFLAGS LDFLAGS CMAKE_PREFIX_PATH PKG_CONFIG_PATH)
  unset(ENV{${variable}})
endforeach()

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "${command}: ${result}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

set(configure
    ${CMAKE_COMMAND} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Debug)
if(absl_DIR)
  list(APPEND configure -Dabsl_DIR=${absl_DIR})
endif()

# Configures, builds and runs ROOT/tests/package/PROJECT with what is installed in `prefix`.
function(consume prefix)
  run(${configure} -S ${ROOT}/tests/package/${PROJECT} -B ${WORK}/build -DCMAKE_PREFIX_PATH=${prefix}
      -DEXPECTED_VERSION=${VERSION} ${OPTIONS} ${ARGN})
  run(${CMAKE_COMMAND} --build ${WORK}/build)
  run(${WORK}/build/consumer)
endfunction()

file(REMOVE_RECURSE ${WORK})

if(STEP STREQUAL "install")
  file(REMOVE_RECURSE ${PREFIX})
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX})
  # Every header is there, and nothing points back to where it came from.
  file(GLOB_RECURSE headers RELATIVE ${ROOT}/include ${ROOT}/include/*.h)
  foreach(header IN LISTS headers)
    if(NOT EXISTS ${PREFIX}/include/${header})
      message(SEND_ERROR "${header} is not installed")
    endif()
  endforeach()
  file(GLOB_RECURSE files ${PREFIX}/share/*)
  foreach(file IN LISTS files)
    file(READ ${file} content)
    foreach(path ${ROOT}/include ${BUILD} ${PREFIX})
      string(FIND "${content}" "${path}" position)
      if(NOT position EQUAL -1)
        message(SEND_ERROR "${file} names ${path}")
      endif()
    endforeach()
  endforeach()

elseif(STEP STREQUAL "consume")
  consume(${PREFIX})

elseif(STEP STREQUAL "refuse")
  execute_process(
    COMMAND ${configure} -S ${ROOT}/tests/package/${PROJECT} -B ${WORK}/build -DCMAKE_PREFIX_PATH=${PREFIX} ${OPTIONS}
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(result EQUAL 0)
    message(FATAL_ERROR "should be refused, but was not:\n${output}")
  endif()
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  string(FIND "${output}" "${MESSAGE}" position)
  if(position EQUAL -1)
    message(FATAL_ERROR "should be refused with\n  ${MESSAGE}\nbut\n${output}")
  endif()

elseif(STEP STREQUAL "move")
  # The copy is used; the consumer's compiler must read no file of the original.
  file(COPY ${PREFIX}/ DESTINATION ${WORK}/elsewhere)
  consume(${WORK}/elsewhere)
  file(READ ${WORK}/build/CMakeCache.txt cache)
  string(FIND "${cache}" "shed_DIR:PATH=${WORK}/elsewhere/share/cmake/shed" position)
  if(position EQUAL -1)
    message(FATAL_ERROR "the consumer did not use ${WORK}/elsewhere")
  endif()
  file(READ ${WORK}/build/compile_commands.json commands)
  string(FIND "${commands}" "${WORK}/elsewhere/include" position)
  if(position EQUAL -1)
    message(FATAL_ERROR "the consumer was not compiled with ${WORK}/elsewhere/include:\n${commands}")
  endif()

elseif(STEP STREQUAL "core_only")
  # shed itself configured, installed and used where there is no Abseil at all.
  run(${configure} -S ${ROOT} -B ${WORK}/shed -DSHED_CORE_ONLY=ON -DCMAKE_DISABLE_FIND_PACKAGE_absl=ON
      -DSHED_BUILD_TESTS=OFF -DSHED_BUILD_EXAMPLES=OFF -DSHED_BUILD_BENCH=OFF)
  run(${CMAKE_COMMAND} --install ${WORK}/shed --prefix ${WORK}/prefix)
  consume(${WORK}/prefix -DCMAKE_DISABLE_FIND_PACKAGE_absl=ON)

elseif(STEP STREQUAL "subdirectory")
  consume("" -DSHED_ROOT=${ROOT})
  # A project that builds shed in does not install it, nor its tests.
  run(${CMAKE_COMMAND} --install ${WORK}/build --prefix ${WORK}/prefix)
  if(EXISTS ${WORK}/prefix/include)
    message(FATAL_ERROR "shed installed itself from within another project")
  endif()

elseif(STEP STREQUAL "pkg_config")
  find_program(pkg_config NAMES pkg-config pkgconf)
  if(NOT pkg_config)
    message(NOTICE "skipped: no pkg-config")
    return()
  endif()
  set(ENV{PKG_CONFIG_PATH} ${PREFIX}/share/pkgconfig)
  file(MAKE_DIRECTORY ${WORK})
  foreach(package shed-core shed)
    run(${pkg_config} --modversion ${package})
    string(STRIP "${output}" version)
    if(NOT version STREQUAL VERSION)
      message(FATAL_ERROR "${package}.pc says version ${version}, want ${VERSION}")
    endif()
  endforeach()
  # Core brings an include path, and nothing else.
  run(${pkg_config} --cflags --libs shed-core)
  string(STRIP "${output}" flags)
  if(NOT flags MATCHES "^-I[^ ]+$")
    message(FATAL_ERROR "shed-core.pc gives \"${flags}\", want an include path alone")
  endif()
  run(${COMPILER} -std=c++20 ${flags} ${ROOT}/tests/package/find_core/main.cc -o ${WORK}/core)
  run(${WORK}/core)
  run(${pkg_config} --cflags --libs shed)
  separate_arguments(flags UNIX_COMMAND "${output}")
  run(${COMPILER} -std=c++20 ${ROOT}/tests/package/find_package/main.cc ${flags} -o ${WORK}/all)
  run(${WORK}/all)

else()
  message(FATAL_ERROR "no step ${STEP}")
endif()
