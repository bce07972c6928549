# Reads the version from include/sampler/version.h, the one place where it is written.
#
# Sets SAMPLER_VERSION ("major.minor.patch"), SAMPLER_FULL_VERSION, to which a candidate of it adds "-rc1", and
# SAMPLER_ABI_VERSION, the number in the SONAME.

set(_version_header "${CMAKE_CURRENT_SOURCE_DIR}/include/sampler/version.h")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${_version_header}")

function(_sampler_read_version_macro name out_variable)
  file(STRINGS "${_version_header}" line REGEX "^#define ${name} +\\(?[0-9]+")
  if(NOT line MATCHES "^#define ${name} +\\(?([0-9]+)")
    message(FATAL_ERROR "${_version_header} does not define ${name} as a number")
  endif()
  set(${out_variable} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()

_sampler_read_version_macro(SAMPLER_VERSION_MAJOR _major)
_sampler_read_version_macro(SAMPLER_VERSION_MINOR _minor)
_sampler_read_version_macro(SAMPLER_VERSION_PATCH _patch)
_sampler_read_version_macro(SAMPLER_VERSION_CANDIDATE _candidate)
_sampler_read_version_macro(SAMPLER_ABI_VERSION SAMPLER_ABI_VERSION)
set(SAMPLER_VERSION "${_major}.${_minor}.${_patch}")
set(SAMPLER_FULL_VERSION "${SAMPLER_VERSION}")
if(_candidate GREATER 0)
  string(APPEND SAMPLER_FULL_VERSION "-rc${_candidate}")
endif()
