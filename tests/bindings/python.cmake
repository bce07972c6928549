# bindings/python, built against this build's library: one ctest test for each file of tests. Skipped
# where there are no headers of Python 3.11 or newer.

find_package(Python3 COMPONENTS Interpreter Development.Module QUIET)
set(python_binding ${PROJECT_SOURCE_DIR}/bindings/python)
set(python_package)
if(Python3_Development.Module_FOUND AND Python3_VERSION VERSION_GREATER_EQUAL 3.11)
  add_subdirectory(${python_binding} ${PROJECT_BINARY_DIR}/bindings/python)
  set(python_package ${PROJECT_BINARY_DIR}/bindings/python/package)
endif()

# sampler_add_python_test(<name> <check> [<argument>...])
function(sampler_add_python_test name check)
  sampler_add_script_test(
    bindings.python.${name}
    COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/python.sh ${check} ${Python3_EXECUTABLE}
            ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/python "${python_package}" ${ARGN})
endfunction()

sampler_add_python_test(current current)
sampler_add_python_test(recorded_logits recorded_logits)
sampler_add_python_test(document document)
sampler_add_python_test(overhead overhead)
sampler_add_python_test(alone alone ${CMAKE_COMMAND})
if(NOT SAMPLER_SANITIZE)
  sampler_add_python_test(system system ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR})
endif()

file(GLOB python_tests CONFIGURE_DEPENDS ${python_binding}/tests/test_*.py)
foreach(file ${python_tests})
  get_filename_component(module ${file} NAME_WE)
  string(REGEX REPLACE "^test_" "" name ${module})
  if(NOT name STREQUAL "device")
    sampler_add_python_test(${name} run ${module})
  elseif(TARGET sampler_fake_cuda)
    sampler_add_python_test(${name} device ${module} $<TARGET_FILE:sampler_fake_cuda>)
  endif()
endforeach()
