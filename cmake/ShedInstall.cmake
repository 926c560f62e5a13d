# Install rules: the headers, a CMake package with the components `core` and `shed`, pkg-config
# files. Everything goes below the prefix by relative paths, so that an installed tree can be moved.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(config_dir ${CMAKE_INSTALL_DATADIR}/cmake/shed)
set(pkgconfig_dir ${CMAKE_INSTALL_DATADIR}/pkgconfig)

# Two export sets: the one of `core` can be loaded on a machine without Abseil.
install(TARGETS shed_core EXPORT shedCoreTargets FILE_SET HEADERS)
install(EXPORT shedCoreTargets NAMESPACE shed:: DESTINATION ${config_dir})
if(NOT SHED_CORE_ONLY)
  install(TARGETS shed EXPORT shedTargets FILE_SET HEADERS)
  install(EXPORT shedTargets NAMESPACE shed:: DESTINATION ${config_dir})
endif()

configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/shedConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/shedConfig.cmake
  INSTALL_DESTINATION ${config_dir}
  NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change an interface.
write_basic_package_version_file(
  ${CMAKE_CURRENT_BINARY_DIR}/shedConfigVersion.cmake
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/shedConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/shedConfigVersion.cmake
        DESTINATION ${config_dir})

file(RELATIVE_PATH SHED_PC_PREFIX /p/${pkgconfig_dir} /p)
string(REGEX REPLACE "/$" "" SHED_PC_PREFIX "${SHED_PC_PREFIX}")
list(TRANSFORM SHED_ABSEIL_LIBRARIES PREPEND absl_ OUTPUT_VARIABLE SHED_PC_REQUIRES)
list(JOIN SHED_PC_REQUIRES " " SHED_PC_REQUIRES)
set(packages shed-core shed-prometheus)
if(NOT SHED_CORE_ONLY)
  list(APPEND packages shed)
endif()
foreach(package IN LISTS packages)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${package}.pc.in ${package}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${package}.pc DESTINATION ${pkgconfig_dir})
endforeach()

install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
