# Lets the library load with glibc 2.28 and newer. Functions with newer symbol versions are linked with their
# versions of 2.28, from stub libraries that define the names only. From glibc 2.34 on the loader finds these
# versions in libc.so.6.

set(_list "${CMAKE_CURRENT_LIST_DIR}/old_symbols.txt")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${_list}")
file(STRINGS "${_list}" _lines REGEX "^lib")
set(_libraries)
foreach(_line IN LISTS _lines)
  string(REPLACE " " ";" _fields "${_line};2.2.5")
  list(GET _fields 0 _library)
  list(GET _fields 1 _name)
  list(GET _fields 2 _version)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    set(_version 2.17)
  endif()
  list(APPEND _libraries ${_library})
  list(APPEND _versions_of_${_library} ${_version})
  string(APPEND _names_of_${_library}_${_version} "${_name}; ")
  string(APPEND _code_of_${_library} "void ${_name}(void) {}\n")
endforeach()
list(REMOVE_DUPLICATES _libraries)
if(NOT SAMPLER_HAS_CUDA)
  set(_libraries libpthread.so.0) # only the CUDA runtime needs the others
endif()

set(_dir "${CMAKE_CURRENT_BINARY_DIR}/glibc")
set(_stubs)
foreach(_library IN LISTS _libraries)
  list(REMOVE_DUPLICATES _versions_of_${_library})
  set(_map)
  foreach(_version IN LISTS _versions_of_${_library})
    string(APPEND _map "GLIBC_${_version} { ${_names_of_${_library}_${_version}}};\n")
  endforeach()
  file(CONFIGURE OUTPUT "${_dir}/${_library}.map" CONTENT "${_map}" @ONLY)
  file(CONFIGURE OUTPUT "${_dir}/${_library}.c" CONTENT "${_code_of_${_library}}" @ONLY)
  add_custom_command(
    OUTPUT "${_dir}/${_library}"
    COMMAND ${CMAKE_C_COMPILER} -shared -nostdlib -fno-builtin -w "-Wl,-soname,${_library}"
            -Xlinker "--version-script=${_dir}/${_library}.map" -o "${_dir}/${_library}"
            "${_dir}/${_library}.c"
    DEPENDS "${_dir}/${_library}.c" "${_dir}/${_library}.map"
    VERBATIM)
  list(APPEND _stubs "${_dir}/${_library}")
endforeach()
add_custom_target(sampler_old_libraries DEPENDS ${_stubs})

add_library(sampler_old_glibc OBJECT glibc/newer_functions.c)
target_link_libraries(sampler_old_glibc PRIVATE sampler_warnings sampler_hardening)
set_target_properties(sampler_old_glibc PROPERTIES POSITION_INDEPENDENT_CODE ON
                                                   C_VISIBILITY_PRESET hidden)
target_sources(sampler PRIVATE $<TARGET_OBJECTS:sampler_old_glibc>)
add_dependencies(sampler sampler_old_libraries)
set_property(TARGET sampler APPEND PROPERTY LINK_DEPENDS ${_stubs})
target_link_options(sampler PRIVATE LINKER:--no-as-needed ${_stubs} LINKER:--as-needed)
