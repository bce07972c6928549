# Whether there is a CUDA backend, its compiler, and the options of device code.
#
#   SAMPLER_HAS_CUDA   result: the CUDA backend is built
# A project that has this one as a part asks for CUDA, which takes minutes to compile.
set(_default AUTO)
if(NOT PROJECT_IS_TOP_LEVEL)
  set(_default OFF)
endif()
set(SAMPLER_CUDA ${_default} CACHE STRING
    "Build the CUDA backend: ON, OFF, or AUTO, where there is an nvcc of 12.4 or newer")
option(SAMPLER_CUDA_LINES "Say in device code which source lines it comes from; the code is the same" OFF)
option(SAMPLER_CUDA_UNOPTIMISED
       "Compile the large kernels in a tenth of the time, for tests without a device" OFF)
set(SAMPLER_HAS_CUDA OFF)
if(NOT SAMPLER_CUDA)
  message(STATUS "CUDA: off, the library is for the CPU alone")
  return()
endif()

set(nvcc "${CMAKE_CUDA_COMPILER}")
if(NOT nvcc)
  set(nvcc "$ENV{CUDACXX}")
endif()
if(NOT nvcc)
  find_program(SAMPLER_NVCC nvcc PATHS /usr/local/cuda/bin)
  set(nvcc "${SAMPLER_NVCC}")
endif()
set(nvcc_version "")
if(nvcc)
  execute_process(COMMAND ${nvcc} --version OUTPUT_VARIABLE nvcc_output ERROR_QUIET)
  string(REGEX MATCH "release ([0-9.]+)" unused "${nvcc_output}")
  set(nvcc_version "${CMAKE_MATCH_1}")
endif()
if(nvcc_version VERSION_LESS 12.4)
  if(SAMPLER_CUDA STREQUAL "AUTO")
    message(STATUS "CUDA: no nvcc of 12.4 or newer, the library is for the CPU alone")
    return()
  endif()
  message(FATAL_ERROR "SAMPLER_CUDA is ${SAMPLER_CUDA}, but there is no nvcc of 12.4 or newer on the "
                      "PATH or in CUDACXX; found: \"${nvcc}\" ${nvcc_version}")
endif()

# Code of 8.0 serves 8.6 to 8.9, too: theirs is the same but for 2 % of register moves. Older compilers know no
# sm_100 and sm_120. The PTX serves what comes later.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  if(nvcc_version VERSION_LESS 12.8)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90)
  else()
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 100-real 120)
  endif()
endif()
set(CMAKE_CUDA_COMPILER "${nvcc}")
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
enable_language(CUDA)
find_package(CUDAToolkit 12.4 REQUIRED)
set(SAMPLER_HAS_CUDA ON)
message(STATUS "CUDA: ${nvcc_version}, architectures ${CMAKE_CUDA_ARCHITECTURES}")

# Contraction to fma would change tokens. Code for several architectures is compiled side by side, and
# kept compressed. It is the same in any folder: nvcc names what is local to a unit after the unit's path,
# and its temporary files after a process.
add_compile_options($<$<COMPILE_LANGUAGE:CUDA>:-fmad=false>
                    $<$<COMPILE_LANGUAGE:CUDA>:-Xcudafe=--orig_src_path_name=libsampler>
                    $<$<COMPILE_LANGUAGE:CUDA>:--objdir-as-tempdir>
                    $<$<COMPILE_LANGUAGE:CUDA>:-Xfatbin=-compress-all>
                    $<$<COMPILE_LANGUAGE:CUDA>:--threads=0>
                    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-ffp-contract=off>)
# A third smaller than by default; drivers that load code of CUDA 13 all read it. It takes long for code that is
# not optimised, which nobody installs.
if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13 AND NOT SAMPLER_CUDA_UNOPTIMISED)
  add_compile_options($<$<COMPILE_LANGUAGE:CUDA>:--compress-mode=size>)
endif()
set(SAMPLER_CUDA_LARGE_KERNELS_OPTIONS)
if(SAMPLER_CUDA_UNOPTIMISED)
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.9)
    set(SAMPLER_CUDA_UNOPTIMISED OFF)
  else()
    set(SAMPLER_CUDA_LARGE_KERNELS_OPTIONS --Ofast-compile=max)
  endif()
endif()
if(SAMPLER_CUDA_LINES)
  add_compile_options($<$<COMPILE_LANGUAGE:CUDA>:-lineinfo>)
endif()
