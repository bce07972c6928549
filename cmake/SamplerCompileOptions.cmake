# Compiler options in five portions:
#   sampler_warnings     interface target: what every C and C++ target of this project is checked with
#   sampler_arithmetic   interface target: what any unit that computes by the contract must be compiled
#                        with, the library and tests that include src/contract alike
#   sampler_hardening    interface target: what makes an error in the library harder to exploit
#   sampler_coverage     interface target: counters for gcov, where SAMPLER_COVERAGE is on
#   SAMPLER_SANITIZE     sanitizers, for every target of the build

add_library(sampler_warnings INTERFACE)
set(host_code $<COMPILE_LANGUAGE:C,CXX>)  # nvcc takes other options
target_compile_options(sampler_warnings
                       INTERFACE $<${host_code}:-Wall;-Wextra;-Wpedantic;-Wshadow>)
# All compilers that build device code or its tests know them.
target_compile_options(sampler_warnings INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-nested-anon-types>)
if(SAMPLER_WERROR)
  target_compile_options(sampler_warnings INTERFACE $<${host_code}:-Werror>)
endif()

# GCC contracts a * b + c to an fma by default where the target has one, which would change tokens.
set(SAMPLER_ARITHMETIC_OPTIONS -ffp-contract=off)
add_library(sampler_arithmetic INTERFACE)
target_compile_options(sampler_arithmetic
                       INTERFACE "$<${host_code}:${SAMPLER_ARITHMETIC_OPTIONS}>")

set(hardening -fstack-protector-strong)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  list(APPEND hardening -fcf-protection=full)
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  list(APPEND hardening -mbranch-protection=standard)
endif()
list(TRANSFORM hardening PREPEND -Xcompiler= OUTPUT_VARIABLE cuda_hardening)
# Bounds that the C library checks: they come with optimisation, and sanitizers have their own.
if(NOT SAMPLER_SANITIZE)
  list(APPEND hardening "$<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE>"
       "$<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-D_FORTIFY_SOURCE=3>")
endif()
add_library(sampler_hardening INTERFACE)
target_compile_options(sampler_hardening INTERFACE "$<${host_code}:${hardening}>"
                                                   "$<$<COMPILE_LANGUAGE:CUDA>:${cuda_hardening}>")

add_library(sampler_coverage INTERFACE)
if(SAMPLER_COVERAGE)
  target_compile_options(sampler_coverage INTERFACE --coverage -fprofile-update=atomic)
  target_link_options(sampler_coverage INTERFACE --coverage)
endif()

if(SAMPLER_SANITIZE)
  # Reports need only the line tables of the debug information; the rest slows the build.
  add_compile_options(-fsanitize=${SAMPLER_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer -g1)
  add_compile_definitions($<$<COMPILE_LANGUAGE:CXX>:_GLIBCXX_ASSERTIONS>)
  add_link_options(-fsanitize=${SAMPLER_SANITIZE})
  if(SAMPLER_SANITIZE MATCHES "address")
    # As GCC has it; older Clangs do not. Tests do less where it is defined.
    add_compile_definitions(__SANITIZE_ADDRESS__=1)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND SAMPLER_SANITIZE MATCHES "undefined")
    # What a library in C++ leaves undefined, in a program in C.
    add_link_options($<$<LINK_LANGUAGE:C>:-fsanitize-link-c++-runtime>)
    link_libraries($<$<LINK_LANGUAGE:C>:stdc++>)
  endif()
  if(SAMPLER_SANITIZE STREQUAL "memory")
    add_compile_options(-fsanitize-memory-track-origins)
  endif()
endif()

if(SAMPLER_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "SAMPLER_FUZZ needs clang; the preset `asan` sets it")
  endif()
  # Coverage in the library as well, so that the fuzzer steers by it.
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()
