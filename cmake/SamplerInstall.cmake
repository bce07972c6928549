# Install rules: library, headers, pkg-config file, CMake package and licence, by component:
#
#   documentation  the reference as HTML and man pages, where SAMPLER_BUILD_DOCS is on
#   runtime      libsampler.so.ABI and what it links to
#   development  headers, libsampler.so, libsampler.a, the pkg-config file and the CMake package
#   tools        programs, where examples or the benchmark are built; on request alone
#   java, jni    the jar and its native library, where those are built (bindings/java)
#
# All of it is relocatable: the prefix may be moved after `cmake --install`. Where
# CMAKE_INSTALL_LIBDIR or CMAKE_INSTALL_INCLUDEDIR is absolute, it stays where it is.

include(CMakePackageConfigHelpers)

set(_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sampler)
if(SAMPLER_INSTALL_SHARED)
  install(
    TARGETS sampler
    EXPORT sampler-targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
            COMPONENT runtime
            NAMELINK_COMPONENT development)
  install(EXPORT sampler-targets NAMESPACE sampler:: DESTINATION ${_package_dir}
          COMPONENT development)
endif()
if(SAMPLER_BUILD_STATIC)
  install(FILES "${SAMPLER_STATIC_LIBRARY}" DESTINATION ${CMAKE_INSTALL_LIBDIR}
          COMPONENT development)
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/sampler"
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT development
        FILES_MATCHING PATTERN "*.h")
install(FILES "${PROJECT_SOURCE_DIR}/include/sampler_dl.h"
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT development)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION ${CMAKE_INSTALL_DOCDIR}
        COMPONENT development)

# Directories as the CMake package and the pkg-config file name them: relative to the prefix, but what was given
# as an absolute path stays one, also where it begins with the prefix. Nix moves these files to another one.
foreach(_kind LIBDIR INCLUDEDIR)
  set(_cmake_${_kind} "\${PACKAGE_PREFIX_DIR}/${CMAKE_INSTALL_${_kind}}")
  set(_pc_${_kind} "\${prefix}/${CMAKE_INSTALL_${_kind}}")
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${_kind}}")
    set(_cmake_${_kind} "${CMAKE_INSTALL_${_kind}}")
    set(_pc_${_kind} "${CMAKE_INSTALL_${_kind}}")
  endif()
endforeach()

configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/sampler-config.cmake.in"
  "${PROJECT_BINARY_DIR}/sampler-config.cmake"
  INSTALL_DESTINATION ${_package_dir}
  NO_SET_AND_CHECK_MACRO
  NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Until 1.0.0 a minor release may change the ABI.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/sampler-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion)
if(NOT SAMPLER_FULL_VERSION STREQUAL PROJECT_VERSION)
  file(APPEND "${PROJECT_BINARY_DIR}/sampler-config-version.cmake" "
# This is ${SAMPLER_FULL_VERSION}, which is older than ${PROJECT_VERSION}.
if(NOT PACKAGE_FIND_VERSION STREQUAL \"\" AND NOT PACKAGE_FIND_VERSION VERSION_LESS ${PROJECT_VERSION})
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
  set(PACKAGE_VERSION_EXACT FALSE)
endif()
")
endif()
install(FILES "${PROJECT_BINARY_DIR}/sampler-config.cmake"
              "${PROJECT_BINARY_DIR}/sampler-config-version.cmake"
        DESTINATION ${_package_dir}
        COMPONENT development)

# The pkg-config file names the prefix relative to where the file lies.
set(_pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(_pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
             BASE_DIRECTORY "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig"
             OUTPUT_VARIABLE _pc_prefix)
  string(PREPEND _pc_prefix "\${pcfiledir}/")
endif()
# A candidate, 0.1.0~rc1, is older than its release.
string(REPLACE "-rc" "~rc" _pc_version "${SAMPLER_FULL_VERSION}")
set(_pc_static ${SAMPLER_STATIC_LIBRARIES})
list(TRANSFORM _pc_static PREPEND "-l")
list(JOIN _pc_static " " _pc_static)
set(_pc_private "${_pc_static}")
# With libsampler.a alone, all that it needs is always linked.
set(_pc_public "")
if(NOT SAMPLER_INSTALL_SHARED)
  set(_pc_public " ${_pc_static}")
  set(_pc_private "")
endif()
set(_pc_names sampler)
if(SAMPLER_BUILD_STATIC)
  list(APPEND _pc_names sampler-static)
endif()
foreach(_name IN LISTS _pc_names)
  configure_file("${PROJECT_SOURCE_DIR}/pkgconfig/${_name}.pc.in" "${PROJECT_BINARY_DIR}/${_name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${_name}.pc" DESTINATION ${_pkgconfig_dir}
          COMPONENT development)
endforeach()

# sampler_install_tool(<target> <name>): where the target is part of all; <name> is what the program is
# called among those of a system.
function(sampler_install_tool target name)
  if(NOT TARGET ${target})
    return()
  endif()
  get_target_property(is_left_out ${target} EXCLUDE_FROM_ALL)
  if(is_left_out)
    return()
  endif()
  install(TARGETS ${target} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
          COMPONENT tools EXCLUDE_FROM_ALL)
  set(directory "${CMAKE_INSTALL_BINDIR}")
  if(NOT IS_ABSOLUTE "${directory}")
    string(PREPEND directory "\${CMAKE_INSTALL_PREFIX}/")
  endif()
  # What is uninstalled is what the list has.
  install(CODE "file(RENAME \"\$ENV{DESTDIR}${directory}/${target}\" \"\$ENV{DESTDIR}${directory}/${name}\")
                list(REMOVE_ITEM CMAKE_INSTALL_MANIFEST_FILES \"${directory}/${target}\")
                list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"${directory}/${name}\")"
          COMPONENT tools EXCLUDE_FROM_ALL)
endfunction()

# cmake --build BUILD --target uninstall: removes what the last `cmake --install` from there wrote.
if(PROJECT_IS_TOP_LEVEL)
  add_custom_target(
    uninstall
    COMMAND ${CMAKE_COMMAND} -D BINARY_DIR=${PROJECT_BINARY_DIR} -P
            ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake
    VERBATIM)
endif()
