# Headers only: everything goes to the architecture-independent places, and no file knows the prefix, so that an
# installed tree may be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_DATADIR}/cmake/penstock")
set(pkgconfig_dir "${CMAKE_INSTALL_DATADIR}/pkgconfig")

# INCLUDES also where there is a file set: what CMake 3.23 writes of a file set, CMake 3.22 skips when it reads it.
set(include_dir INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
if(CMAKE_VERSION VERSION_GREATER_EQUAL 3.23)
  install(TARGETS penstock EXPORT penstock-targets FILE_SET HEADERS ${include_dir})
else()
  install(TARGETS penstock EXPORT penstock-targets ${include_dir})
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/penstock" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    FILES_MATCHING PATTERN "*.hpp")
endif()
install(EXPORT penstock-targets NAMESPACE penstock:: DESTINATION "${package_dir}")

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/penstock-config.cmake.in"
  "${PROJECT_BINARY_DIR}/penstock-config.cmake"
  INSTALL_DESTINATION "${package_dir}" NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/penstock-config-version.cmake"
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES "${PROJECT_BINARY_DIR}/penstock-config.cmake" "${PROJECT_BINARY_DIR}/penstock-config-version.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/penstock-edge-redis.cmake" DESTINATION "${package_dir}")

file(RELATIVE_PATH include_dir_from_pc "${CMAKE_INSTALL_FULL_DATADIR}/pkgconfig" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
configure_file("${CMAKE_CURRENT_LIST_DIR}/penstock.pc.in" "${PROJECT_BINARY_DIR}/penstock.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/penstock.pc" DESTINATION "${pkgconfig_dir}")

install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
