# Helpers for tests/*/CMakeLists.txt.
#
# Labels in use:
#   slow           takes long to build or to run: left out by `./run test --quick`, where
#                  SAMPLER_TEST_SLOW is off
#   long           takes longer than a test run may: run by `./run test --all`, where SAMPLER_TEST_LONG is on
#   memory         built and run under AddressSanitizer: its subject is bad input, or memory that calls share or
#                  reach beyond
#   memory-1, -2, -3   the same, one of them each day, in turn (SAMPLER_TEST_DAY), and all in `./run test --all`
#   memory-long    the same in `./run test --all` alone: takes too long there for every test run
#   threads        built and run under ThreadSanitizer
#   msan           built and run under MemorySanitizer
#   aarch64        built and run by the preset aarch64, under qemu-aarch64
#   faults         deliberate faults in the library, each of which the other tests must catch

# _sampler_is_wanted(<variable> <label>...): whether this build has tests with these labels.
function(_sampler_is_wanted variable)
  set(${variable} ON PARENT_SCOPE)
  set(memory memory memory-1 memory-2 memory-3)
  if(SAMPLER_TEST_LONG)
    list(APPEND memory memory-long)
  elseif(NOT SAMPLER_TEST_DAY STREQUAL "")
    math(EXPR turn "${SAMPLER_TEST_DAY} % 3 + 1")
    set(memory memory memory-${turn})
  endif()
  set(labels_of_memory ${ARGN})
  list(FILTER labels_of_memory INCLUDE REGEX ^memory)
  if((SAMPLER_TEST_LABEL AND NOT SAMPLER_TEST_LABEL IN_LIST ARGN)
     OR (NOT SAMPLER_TEST_SLOW AND "slow" IN_LIST ARGN)
     OR (NOT SAMPLER_TEST_LONG AND "long" IN_LIST ARGN)
     OR (SAMPLER_SANITIZE MATCHES "address" AND NOT "${labels_of_memory}" IN_LIST memory))
    set(${variable} OFF PARENT_SCOPE)
  endif()
endfunction()

# sampler_drives_library(<target>)
#
# Says that the target's code calls the library and has none of it compiled in. That is compiled fast:
# with less optimisation than the library in a release build, with none under AddressSanitizer, and not looked
# through for undefined behaviour of its own.
function(sampler_drives_library target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(SAMPLER_SANITIZE MATCHES "address")
    target_compile_options(${target} PRIVATE -O0)
  endif()
  if(SAMPLER_SANITIZE MATCHES "undefined")
    target_compile_options(${target} PRIVATE -fno-sanitize=undefined,float-cast-overflow)
  endif()
endfunction()

# sampler_get_objects(<variable> <unit>...)
#
# The library's own objects of these units, src/<unit>, for tests of its inner parts. A unit is a
# regular expression.
function(sampler_get_objects variable)
  list(JOIN ARGN "|" units)
  set(${variable} "$<FILTER:$<TARGET_OBJECTS:sampler>,INCLUDE,/sampler[.]dir/([.]/)?(${units})[.]o$>" PARENT_SCOPE)
endfunction()

# _sampler_precompile(<target> <driving|computing>)
#
# googletest and what most tests include take longer to read than a test does: they are read once for
# all programs that are compiled with the same options, as sampler_drives_library() has them or not.
function(_sampler_precompile target kind)
  set(precompiled sampler_precompiled_${kind})
  if(NOT TARGET ${precompiled})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${precompiled}.cpp CONTENT "")
    add_library(${precompiled} OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/${precompiled}.cpp)
    target_link_libraries(${precompiled} PRIVATE sampler::sampler sampler_warnings
                                                 sampler_arithmetic GTest::gtest_main)
    target_precompile_headers(${precompiled} PRIVATE <gtest/gtest.h> <fstream> <random> <thread>)
    if(kind STREQUAL "driving")
      sampler_drives_library(${precompiled})
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${precompiled})
endfunction()

# sampler_get_share_of_the_day(<variable> <n>): what stands before a googletest program's command to run one
# of n shares of its cases, in turn.
function(sampler_get_share_of_the_day variable num_shares)
  set(${variable}
      ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1 ${Python3_EXECUTABLE}
      ${PROJECT_SOURCE_DIR}/tools/share_of_the_day.py ${num_shares}
      PARENT_SCOPE)
endfunction()

# sampler_add_gtest(<name> SOURCES <file>... [LABELS <label>...] [LINK <target>...] [TIMEOUT <s>]
#                   [LIBRARY <target>] [FILTER <filter>] [SHARDS <n>] [DAILY <n>] [COMPUTES]
#                   [UNSANITIZED <pattern>...] [UNEMULATED <pattern>...] [RACES <pattern>...])
#
# Builds the program <name> from SOURCES with googletest's main, the library and, for tests of inner
# parts, src/ among the include directories and the contract's compiler options. It becomes the ctest
# test <name> with LABELS, which runs its cases in one process and is ended after TIMEOUT seconds
# (default 600; emulated ones get four times as long). tools/test_summary.py counts the cases by what
# the program prints; one that calls GTEST_SKIP counts as skipped.
#
# SHARDS is for programs that run long: as many tests <name>.1, <name>.2, ... share the cases, in
# parallel. DAILY is for programs that take longer than a test run may: the cases are dealt out to as many
# shares, one of which runs each day, in turn; where SAMPLER_TEST_LONG is on, all cases run. With the labels
# memory-1 to -3, whose turn comes each third day, n is no multiple of 3 under AddressSanitizer. LINK adds
# libraries; LIBRARY stands for the library itself; FILTER is googletest's, for the cases that run. Where the
# build does not want tests with these labels, the target does not exist.
#
# UNSANITIZED and UNEMULATED: googletest's patterns of cases that are left out under sanitizers and
# under emulation, where they are dear and show nothing that the others do not. Not beside FILTER.
#
# RACES: googletest's patterns of the cases that run under ThreadSanitizer, instead of all.
#
# COMPUTES: inner parts of the library, or what takes as long, are compiled into it; it is compiled as
# the library is. Programs without it see sampler_drives_library().
function(sampler_add_gtest name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "COMPUTES" "TIMEOUT;LIBRARY;FILTER;SHARDS;DAILY"
                        "SOURCES;LABELS;LINK;UNSANITIZED;UNEMULATED;RACES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "sampler_add_gtest(${name}): unknown ${arg_UNPARSED_ARGUMENTS}")
  endif()
  _sampler_is_wanted(is_wanted ${arg_LABELS})
  if(NOT is_wanted)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  if(NOT arg_LIBRARY)
    set(arg_LIBRARY sampler::sampler)
  endif()
  if(arg_DAILY AND NOT SAMPLER_TEST_LONG)
    set(arg_SHARDS 1)
  endif()
  if(NOT arg_SHARDS)
    set(arg_SHARDS 1)
  endif()
  set(left_out)
  if(SAMPLER_SANITIZE)
    list(APPEND left_out ${arg_UNSANITIZED})
  endif()
  if(CMAKE_CROSSCOMPILING)
    list(APPEND left_out ${arg_UNEMULATED})
    math(EXPR arg_TIMEOUT "4 * ${arg_TIMEOUT}")
  endif()
  if(left_out)
    list(JOIN left_out : patterns)
    set(arg_FILTER -${patterns})
  endif()
  if(arg_RACES AND SAMPLER_SANITIZE MATCHES "thread")
    list(JOIN arg_RACES : arg_FILTER)
  endif()

  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(${name} PRIVATE ${arg_LINK} ${arg_LIBRARY} sampler_warnings
                                        sampler_arithmetic GTest::gtest_main)
  if(arg_COMPUTES)
    _sampler_precompile(${name} computing)
  else()
    sampler_drives_library(${name})
    _sampler_precompile(${name} driving)
  endif()
  set(command $<TARGET_FILE:${name}>)
  if(CMAKE_CROSSCOMPILING)
    list(PREPEND command ${CMAKE_CROSSCOMPILING_EMULATOR})
  endif()
  if(arg_FILTER)
    list(APPEND command "--gtest_filter=${arg_FILTER}")
  endif()
  if(arg_DAILY AND NOT SAMPLER_TEST_LONG)
    sampler_get_share_of_the_day(share ${arg_DAILY})
    list(PREPEND command ${share})
  endif()
  foreach(shard RANGE 1 ${arg_SHARDS})
    set(test ${name})
    set(environment)
    if(arg_SHARDS GREATER 1)
      set(test ${name}.${shard})
      math(EXPR index "${shard} - 1")
      set(environment GTEST_TOTAL_SHARDS=${arg_SHARDS} GTEST_SHARD_INDEX=${index})
    endif()
    add_test(NAME ${test} COMMAND ${command})
    set_tests_properties(
      ${test} PROPERTIES LABELS "${arg_LABELS}" ENVIRONMENT "${environment}" TIMEOUT ${arg_TIMEOUT}
                         SKIP_RETURN_CODE 77)
  endforeach()
endfunction()

# sampler_add_fuzzer(<name> SOURCES <file>... [SECONDS <s>])
#
# Builds the libFuzzer program <name> and a ctest test "<name>" that runs it for SECONDS (default 20), three
# times as long where SAMPLER_TEST_LONG is on, from an empty corpus, so that a run depends on no earlier one.
# Where SAMPLER_FUZZ is on.
function(sampler_add_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SECONDS" "SOURCES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "sampler_add_fuzzer(${name}): unknown ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT SAMPLER_FUZZ)
    return()
  endif()
  if(NOT arg_SECONDS)
    set(arg_SECONDS 20)
  endif()
  if(SAMPLER_TEST_LONG)
    math(EXPR arg_SECONDS "3 * ${arg_SECONDS}")
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(${name} PRIVATE sampler::sampler sampler_warnings sampler_arithmetic)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  add_test(NAME ${name} COMMAND ${name} -max_total_time=${arg_SECONDS} -print_final_stats=1)
  math(EXPR timeout "${arg_SECONDS} + 120")
  set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout})
endfunction()

# sampler_add_script_test(<name> COMMAND <command>... [LABELS <label>...] [FIXTURES <fixture>...])
#
# A ctest test that runs a command. Exit status 77 means skipped; the command then prints a line
# "skipped: <reason>". It is ended after 10 minutes. FIXTURES are those that it requires.
function(sampler_add_script_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "COMMAND;LABELS;FIXTURES")
  _sampler_is_wanted(is_wanted ${arg_LABELS})
  if(NOT is_wanted)
    return()
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  set_tests_properties(
    ${name} PROPERTIES LABELS "${arg_LABELS}" FIXTURES_REQUIRED "${arg_FIXTURES}"
                       SKIP_RETURN_CODE 77 TIMEOUT 600)
endfunction()

# sampler_get_mpirun(<variable>)
#
# After find_package(MPI): the command that the number of ranks and a program follow. They are of one
# machine, as many as asked for, and leave the processor to each other.
function(sampler_get_mpirun variable)
  set(${variable}
      ${CMAKE_COMMAND} -E env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
      OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
      OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_plm_rsh_agent=sh ${MPIEXEC_EXECUTABLE}
      ${MPIEXEC_NUMPROC_FLAG}
      PARENT_SCOPE)
endfunction()
