# libsampler.a: one object, in which only the exported names are global. A program that links it has
# no other name of the library, of its copy of the CUDA runtime, or of their templates.
#
# What the object needs is in SAMPLER_STATIC_LIBRARIES: the C++ library, which is not in it.

set(SAMPLER_STATIC_LIBRARIES stdc++ m pthread)
set(_objects $<TARGET_OBJECTS:sampler>)
get_property(_isas GLOBAL PROPERTY SAMPLER_ISA_OBJECTS)
foreach(_isa IN LISTS _isas)
  list(APPEND _objects $<TARGET_OBJECTS:${_isa}>)
endforeach()
set(_archives)
if(SAMPLER_HAS_CUDA)
  set(_archives $<TARGET_FILE:CUDA::cudart_static>)
  list(APPEND SAMPLER_STATIC_LIBRARIES dl rt)
endif()

set(_names "${PROJECT_SOURCE_DIR}/src/capi/exported_names.txt")
set(SAMPLER_STATIC_LIBRARY "${PROJECT_BINARY_DIR}/src/libsampler.a")
set(_whole "${PROJECT_BINARY_DIR}/src/sampler_whole.o")
set(_object "${PROJECT_BINARY_DIR}/src/sampler.o")
# Groups are allocated: those of the same name in a program's other objects would replace them. Names
# that are weakened first are local then, unique ones too.
add_custom_command(
  OUTPUT "${SAMPLER_STATIC_LIBRARY}"
  COMMAND ${CMAKE_LINKER} -r --force-group-allocation -o ${_whole} ${_objects} ${_archives}
  COMMAND ${CMAKE_OBJCOPY} --wildcard --weaken-symbol=_Z* ${_whole}
  COMMAND ${CMAKE_OBJCOPY} --keep-global-symbols=${_names} ${_whole} ${_object}
  COMMAND ${CMAKE_COMMAND} -E rm -f ${_whole} ${SAMPLER_STATIC_LIBRARY}
  COMMAND ${CMAKE_AR} qcD ${SAMPLER_STATIC_LIBRARY} ${_object}
  COMMAND ${CMAKE_COMMAND} -E rm -f ${_object}
  DEPENDS ${_objects} sampler "${_names}"
  COMMENT "Making libsampler.a of one object"
  COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(sampler_static ALL DEPENDS "${SAMPLER_STATIC_LIBRARY}")
