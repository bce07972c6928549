/* Go: fixed-width numbers, structs as addresses. Their memory, and that of the arrays in them, is on
 * the heap and stays reachable until the call returns: see array.go beside the generated files. */

%insert(cgo_comment_typedefs) %{
#cgo pkg-config: sampler
%}

%typemap(gotype) int32_t "int32"
%typemap(gotype) int64_t "int64"
%typemap(gotype) shim_address, shim_handle * "uintptr"

%typemap(in) int32_t, int64_t, shim_address, shim_handle * "$1 = ($1_ltype)$input;"
%typemap(out) int32_t, int64_t, shim_address, shim_handle * "$result = $1;"
