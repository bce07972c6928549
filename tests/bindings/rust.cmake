# bindings/rust. Skipped where there is no Rust 1.63 or newer, or no pkg-config.

set(rust_dir ${PROJECT_SOURCE_DIR}/bindings/rust)

sampler_add_script_test(
  bindings.rust.current
  COMMAND ${Python3_EXECUTABLE} ${rust_dir}/generate.py check ${PROJECT_SOURCE_DIR}/include
          ${rust_dir}/sampler-sys/src/generated.rs)

# The prefix is installed where the examples are built.
if(NOT SAMPLER_BUILD_EXAMPLES)
  return()
endif()

set(fake_cuda)
if(TARGET sampler_fake_cuda)
  set(fake_cuda $<TARGET_FILE:sampler_fake_cuda>)
endif()

function(add_rust_test check)
  sampler_add_script_test(
    bindings.rust.${check}
    COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/check_rust.sh ${check} ${PROJECT_SOURCE_DIR}
            ${PROJECT_BINARY_DIR}/tests/install/work/prefix ${CMAKE_CURRENT_BINARY_DIR}/rust
            ${fake_cuda}
    LABELS ${ARGN}
    FIXTURES installed)
  # They build in one folder, where cargo lets one in at a time.
  if(TEST bindings.rust.${check})
    set_tests_properties(bindings.rust.${check} PROPERTIES RESOURCE_LOCK rust)
  endif()
endfunction()

foreach(check test format link examples)
  add_rust_test(${check})
endforeach()
if(fake_cuda)
  add_rust_test(device)
endif()
foreach(check clippy dlopen)
  add_rust_test(${check})
endforeach()
foreach(check doc leak package)
  add_rust_test(${check} long)
endforeach()
if(TEST bindings.rust.package) # compiles the library
  set_tests_properties(bindings.rust.package PROPERTIES TIMEOUT 1800)
endif()
