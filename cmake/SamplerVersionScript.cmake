# sampler_generate_version_script(<names file> <output>)
#
# Writes a linker version script that exports the names in <names file> (one a line, # comments) and
# hides everything else. The file is also what tests/abi compares the built library with.
function(sampler_generate_version_script names_file output)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${names_file}")
  file(STRINGS "${names_file}" names REGEX "^[A-Za-z_]")
  list(JOIN names ";\n    " globals)
  file(CONFIGURE OUTPUT "${output}" @ONLY CONTENT [=[
SAMPLER_@SAMPLER_ABI_VERSION@ {
  global:
    @globals@;
  local:
    *;
};
]=])
endfunction()
