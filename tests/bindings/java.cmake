# The Java binding: one ctest test for each class of tests, its documentation and its examples.

if(NOT SAMPLER_BUILD_EXAMPLES) # without them nothing is installed to test against
  return()
endif()

set(java_binding ${PROJECT_SOURCE_DIR}/bindings/java)

# sampler_add_java_test(<name> <check> [ARGUMENTS <argument>...] [LABELS <label>...] [FIXTURES <fixture>...])
function(sampler_add_java_test name check)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "ARGUMENTS;LABELS;FIXTURES")
  sampler_add_script_test(
    bindings.java.${name}
    COMMAND ${CMAKE_COMMAND} -E env CMAKE_GENERATOR=${CMAKE_GENERATOR}
            bash ${CMAKE_CURRENT_SOURCE_DIR}/java.sh ${check}
            ${PROJECT_BINARY_DIR}/tests/install/work/prefix ${java_binding}
            ${CMAKE_CURRENT_BINARY_DIR}/java ${arg_ARGUMENTS}
    LABELS ${arg_LABELS}
    FIXTURES installed ${arg_FIXTURES})
endfunction()

sampler_add_java_test(build build)
if(NOT TEST bindings.java.build)
  return()
endif()
set_tests_properties(bindings.java.build PROPERTIES FIXTURES_SETUP java_tests)
sampler_add_java_test(javadoc javadoc FIXTURES java_tests)
sampler_add_java_test(examples examples FIXTURES java_tests)

# With -Xcheck:jni the JVM ends when something was written outside an array, and warns of what else JNI
# forbids.
sampler_add_java_test(checked checked LABELS long FIXTURES java_tests)
sampler_add_java_test(jar jar LABELS long FIXTURES java_tests)
sampler_add_java_test(aarch64 aarch64 LABELS long FIXTURES java_tests)
sampler_add_java_test(maven maven LABELS long FIXTURES java_tests)
foreach(check checked aarch64) # minutes, on a machine with nothing else to do
  if(TEST bindings.java.${check})
    set_tests_properties(bindings.java.${check} PROPERTIES TIMEOUT 1800)
  endif()
endforeach()
set(java_arguments_ArraysTest -Xcheck:jni)
set(java_arguments_VectorsTest -Xcheck:jni)
# A heap that is there from the start, so that it does not look like a leak.
set(java_arguments_LeakTest -Xms64m -Xmx64m -XX:+AlwaysPreTouch)
set(java_labels_LeakTest long)
file(GLOB java_test_files CONFIGURE_DEPENDS
     ${java_binding}/src/test/java/io/github/libsampler/*Test.java)
foreach(file ${java_test_files})
  cmake_path(GET file STEM class)
  sampler_add_java_test(
    ${class} run
    ARGUMENTS ${class} ${java_arguments_${class}}
    LABELS ${java_labels_${class}}
    FIXTURES java_tests)
endforeach()

if(TARGET sampler_fake_cuda)
  sampler_add_java_test(device device ARGUMENTS $<TARGET_FILE:sampler_fake_cuda> FIXTURES java_tests)
endif()
