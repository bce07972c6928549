# The Go binding: one ctest test for each of its tests and examples, and one for its programs.

if(NOT SAMPLER_BUILD_EXAMPLES) # without them nothing is installed to test against
  return()
endif()

set(go_binding ${PROJECT_SOURCE_DIR}/bindings/go)

# sampler_add_go_test(<name> <check> [ARGUMENTS <argument>...] [LABELS <label>...]
#                     [FIXTURES <fixture>...])
function(sampler_add_go_test name check)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "ARGUMENTS;LABELS;FIXTURES")
  sampler_add_script_test(
    bindings.go.${name}
    COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/go.sh ${check}
            ${PROJECT_BINARY_DIR}/tests/install/work/prefix ${go_binding}
            ${CMAKE_CURRENT_BINARY_DIR}/go ${arg_ARGUMENTS}
    LABELS ${arg_LABELS}
    FIXTURES installed ${arg_FIXTURES})
endfunction()

sampler_add_go_test(build build)
sampler_add_go_test(vet vet)
sampler_add_go_test(race race LABELS long)
sampler_add_go_test(examples examples)
sampler_add_go_test(recorded_logits recorded_logits ARGUMENTS ${PROJECT_SOURCE_DIR})
sampler_add_go_test(document document ARGUMENTS ${PROJECT_SOURCE_DIR})

if(TEST bindings.go.build)
  set_tests_properties(bindings.go.build PROPERTIES FIXTURES_SETUP go_tests)
  file(GLOB go_test_files CONFIGURE_DEPENDS ${go_binding}/*_test.go)
  foreach(file ${go_test_files})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(STRINGS ${file} functions REGEX "^func (Test|Example)")
    foreach(function ${functions})
      string(REGEX REPLACE "^func ([A-Za-z_]+).*" "\\1" name ${function})
      if(NOT name MATCHES "^Test(Vectors|Sessions)OnDevice$")
        sampler_add_go_test(${name} run ARGUMENTS ${name} FIXTURES go_tests)
      elseif(TARGET sampler_fake_cuda)
        sampler_add_go_test(${name} device ARGUMENTS $<TARGET_FILE:sampler_fake_cuda> ${name}
                            FIXTURES go_tests)
      endif()
    endforeach()
  endforeach()
endif()
