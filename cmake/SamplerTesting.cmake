# Helpers for tests/*/CMakeLists.txt.
#
# Labels in use:
#   slow           left out by `./run test --quick`
#   threads        built and run under ThreadSanitizer
#   msan           built and run under MemorySanitizer
#   aarch64        built and run by the preset aarch64, under qemu-aarch64
#   release-only   neither built nor run under sanitizers: looks at the built or installed library
#                  itself, or takes too long there
#   faults         deliberate faults in the library, each of which the other tests must catch

# _sampler_is_wanted(<variable> <label>...): whether this build has tests with these labels.
function(_sampler_is_wanted variable)
  set(${variable} ON PARENT_SCOPE)
  if(SAMPLER_FUZZ
     OR (SAMPLER_TEST_LABEL AND NOT SAMPLER_TEST_LABEL IN_LIST ARGN)
     OR (SAMPLER_SANITIZE AND "release-only" IN_LIST ARGN))
    set(${variable} OFF PARENT_SCOPE)
  endif()
endfunction()

# sampler_add_gtest(<name> SOURCES <file>... [LABELS <label>...] [LINK <target>...] [TIMEOUT <s>]
#                   [LIBRARY <target>] [FILTER <filter>])
#
# Builds the program <name> from SOURCES with googletest's main, the library and, for tests of inner
# parts, src/ among the include directories and the contract's compiler options. Each of its cases
# becomes a ctest test "<name>.<suite>.<case>" with LABELS, ended after TIMEOUT seconds (default 300;
# emulated cases get ten times as long). A case that calls GTEST_SKIP shows as skipped.
#
# Cases run as processes of their own, in parallel. LINK adds libraries; LIBRARY stands for the library
# itself; FILTER is googletest's, for the cases that become tests. Where the build does not want tests
# with these labels, the target does not exist.
function(sampler_add_gtest name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT;LIBRARY;FILTER" "SOURCES;LABELS;LINK")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "sampler_add_gtest(${name}): unknown ${arg_UNPARSED_ARGUMENTS}")
  endif()
  _sampler_is_wanted(is_wanted ${arg_LABELS})
  if(NOT is_wanted)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if(NOT arg_LIBRARY)
    set(arg_LIBRARY sampler::sampler)
  endif()
  if(CMAKE_CROSSCOMPILING)
    math(EXPR arg_TIMEOUT "10 * ${arg_TIMEOUT}")
  endif()

  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE ${arg_LINK} ${arg_LIBRARY} sampler_warnings
                                        sampler_arithmetic GTest::gtest_main)
  gtest_discover_tests(
    ${name}
    TEST_PREFIX "${name}."
    TEST_FILTER "${arg_FILTER}"
    TEST_LIST discovered_tests
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    NO_PRETTY_TYPES
    NO_PRETTY_VALUES)
  # gtest_discover_tests splits a list of labels, so they are set when ctest has found the cases.
  set(properties_file "${CMAKE_CURRENT_BINARY_DIR}/${name}_properties.cmake")
  file(CONFIGURE OUTPUT "${properties_file}" @ONLY CONTENT [=[
if(discovered_tests)
  set_tests_properties(${discovered_tests} PROPERTIES TIMEOUT @arg_TIMEOUT@ LABELS "@arg_LABELS@")
  unset(discovered_tests)
endif()
]=])
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${properties_file}")
endfunction()

# sampler_add_fuzzer(<name> SOURCES <file>... [SECONDS <s>])
#
# Builds the libFuzzer program <name> and a ctest test "<name>" that runs it for SECONDS (default 60)
# from an empty corpus, so that a run depends on no earlier one. Only in the preset `fuzz`.
function(sampler_add_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SECONDS" "SOURCES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "sampler_add_fuzzer(${name}): unknown ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT SAMPLER_FUZZ)
    return()
  endif()
  if(NOT arg_SECONDS)
    set(arg_SECONDS 60)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE sampler::sampler sampler_warnings sampler_arithmetic)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  add_test(NAME ${name} COMMAND ${name} -max_total_time=${arg_SECONDS} -print_final_stats=1)
  math(EXPR timeout "${arg_SECONDS} + 120")
  set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout})
endfunction()

# sampler_add_script_test(<name> COMMAND <command>... [LABELS <label>...] [FIXTURES <fixture>...])
#
# A ctest test that runs a command. Exit status 77 means skipped; the command then prints a line
# "skipped: <reason>". FIXTURES are those that it requires.
function(sampler_add_script_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "COMMAND;LABELS;FIXTURES")
  _sampler_is_wanted(is_wanted ${arg_LABELS})
  if(NOT is_wanted)
    return()
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  set_tests_properties(
    ${name} PROPERTIES LABELS "${arg_LABELS}" FIXTURES_REQUIRED "${arg_FIXTURES}"
                       SKIP_RETURN_CODE 77 TIMEOUT 300)
endfunction()
