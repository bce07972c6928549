# Install rules: library, headers, pkg-config file, CMake package and licence. All of it is
# relocatable: the prefix may be moved after `cmake --install`.

include(CMakePackageConfigHelpers)

install(TARGETS sampler EXPORT sampler-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/sampler"
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sampler)
install(EXPORT sampler-targets NAMESPACE sampler:: DESTINATION ${_package_dir})
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/sampler-config.cmake.in"
  "${PROJECT_BINARY_DIR}/sampler-config.cmake"
  INSTALL_DESTINATION ${_package_dir}
  NO_SET_AND_CHECK_MACRO
  NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Until 1.0.0 a minor release may change the ABI.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/sampler-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/sampler-config.cmake"
              "${PROJECT_BINARY_DIR}/sampler-config-version.cmake"
        DESTINATION ${_package_dir})

# The pkg-config file names the prefix relative to where the file lies.
set(_pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
           BASE_DIRECTORY "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig"
           OUTPUT_VARIABLE _prefix_from_pcfile)
configure_file("${PROJECT_SOURCE_DIR}/pkgconfig/sampler.pc.in"
               "${PROJECT_BINARY_DIR}/sampler.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/sampler.pc" DESTINATION ${_pkgconfig_dir})
