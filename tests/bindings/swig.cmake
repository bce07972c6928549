# The generated code that Go and Java have in common.

sampler_add_script_test(
  bindings.swig.generated_code_is_current
  COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/check_generated.sh ${PROJECT_SOURCE_DIR}
          ${CMAKE_CURRENT_BINARY_DIR}/generated)

sampler_add_script_test(
  bindings.swig.layout
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/check_layout.py ${PROJECT_SOURCE_DIR})

# Whether all of the C API has a place in each binding, or a reason.
sampler_add_script_test(
  bindings.members
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/members.py check ${PROJECT_SOURCE_DIR})
