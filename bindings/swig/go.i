/* Go: fixed-width numbers, arrays as addresses. Their memory is on the heap, stays reachable until
 * the call returns and holds no pointers: see array.go beside the generated files. */

%insert(cgo_comment_typedefs) %{
#cgo pkg-config: sampler
%}

%typemap(gotype) int32_t "int32"
%typemap(gotype) uint32_t "uint32"
%typemap(gotype) int64_t "int64"
%typemap(gotype) uint64_t "uint64"
%typemap(gotype) uintptr_t, shim_handle * "uintptr"
%typemap(gotype) float "float32"
%typemap(gotype) shim_read_any, shim_read_f32, shim_read_i32, shim_read_u64 "uintptr"
%typemap(gotype) shim_write_any, shim_write_f32, shim_write_i32, shim_write_u32 "uintptr"

%typemap(in) int32_t, uint32_t, int64_t, uint64_t, uintptr_t, float, shim_handle *
  "$1 = ($1_ltype)$input;"
%typemap(in) shim_read_any, shim_read_f32, shim_read_i32, shim_read_u64 "$1 = ($1_ltype)$input;"
%typemap(in) shim_write_any, shim_write_f32, shim_write_i32, shim_write_u32 "$1 = ($1_ltype)$input;"
%typemap(in, numinputs=0) shim_offset "$1 = 0;"

%typemap(out) int32_t, uint32_t, int64_t, shim_handle * "$result = $1;"
