# The generated code that Go and Java have in common.

sampler_add_script_test(
  bindings.swig.generated_code_is_current
  COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/check_generated.sh ${PROJECT_SOURCE_DIR}
          ${CMAKE_CURRENT_BINARY_DIR}/generated
  LABELS release-only)

sampler_add_script_test(
  bindings.swig.layout
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/check_layout.py ${PROJECT_SOURCE_DIR}
  LABELS release-only)
