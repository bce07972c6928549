# The CUDA compiler, the architectures, and the options of device code.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 86-real 89-real 90-real 100-real 120)
endif()
enable_language(CUDA)
find_package(CUDAToolkit 12.4 REQUIRED)
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)

# Contraction to fma would change tokens. Code for several architectures is compiled side by side, and
# kept compressed.
add_compile_options($<$<COMPILE_LANGUAGE:CUDA>:-fmad=false>
                    $<$<COMPILE_LANGUAGE:CUDA>:-Xfatbin=-compress-all>
                    $<$<COMPILE_LANGUAGE:CUDA>:--threads=0>
                    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-ffp-contract=off>)
