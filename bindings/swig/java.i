/* Java: handles and addresses as long, arrays as Object: null or a primitive array, of which the
 * caller checks type, length and offset.
 *
 * All arrays are pinned right before the C call and let go right after it, with no JNI call
 * between: the typemaps of the arrays only note them; that of `only_size`, which stands in front of
 * them in every operation, pins. */

%javaconst(1);
%pragma(java) jniclassclassmodifiers = "final class"
%pragma(java) jniclasscode = %{
  static {
    NativeLibrary.load();
  }
%}
%pragma(java) moduleclassmodifiers = "public final class"

%typemap(jni) int32_t, uint32_t "jint"
%typemap(jtype) int32_t, uint32_t "int"
%typemap(jstype) int32_t, uint32_t "int"
%typemap(jni) int64_t, uint64_t, uintptr_t, shim_offset, shim_handle * "jlong"
%typemap(jtype) int64_t, uint64_t, uintptr_t, shim_offset, shim_handle * "long"
%typemap(jstype) int64_t, uint64_t, uintptr_t, shim_offset, shim_handle * "long"

%typemap(in) int32_t, uint32_t, int64_t, uint64_t, uintptr_t, shim_offset "$1 = ($1_ltype)$input;"
%typemap(out) int32_t, uint32_t, int64_t "$result = $1;"
%typemap(in) shim_handle * "$1 = (shim_handle *)(intptr_t)$input;"
%typemap(out) shim_handle * "$result = (jlong)(intptr_t)$1;"

%typemap(javain) int32_t, uint32_t, int64_t, uint64_t "$javainput"
%typemap(javain) uintptr_t, shim_offset, shim_handle * "$javainput"
%typemap(javaout) int32_t, uint32_t, int64_t, shim_handle * "{
    return $jnicall;
  }"

#define SHIM_READ_ARRAYS shim_read_any, shim_read_f32, shim_read_i32, shim_read_u64
#define SHIM_WRITE_ARRAYS shim_write_any, shim_write_f32, shim_write_i32, shim_write_u32
%typemap(jni) SHIM_READ_ARRAYS, SHIM_WRITE_ARRAYS "jobject"
%typemap(jtype) SHIM_READ_ARRAYS, SHIM_WRITE_ARRAYS "Object"
%typemap(jstype) SHIM_READ_ARRAYS, SHIM_WRITE_ARRAYS "Object"
%typemap(javain) SHIM_READ_ARRAYS, SHIM_WRITE_ARRAYS "$javainput"

/* `pins2`: only_size is the second argument. */
%typemap(in) int32_t only_size (java_pins pins) {
  $1 = (int32_t)$input;
  pins.count = 0;
}
%typemap(check) int32_t only_size {
  if (!java_pin(jenv, &pins$argnum)) return 0;
}
%typemap(freearg) int32_t only_size "java_unpin(jenv, &pins$argnum);"

%typemap(in) SHIM_READ_ARRAYS "java_note(&pins2, $input, &$1, JNI_ABORT);"
%typemap(in) SHIM_WRITE_ARRAYS "java_note(&pins2, $input, &$1, 0);"

%insert(header) %{
#include <stdint.h>

enum { JAVA_MAX_ARRAYS = 24 };

/* The arrays of a call: where each one's address goes, and how it is let go. */
typedef struct java_pins {
  int count;
  struct {
    jarray array;
    void **address;
    jint release_mode;
  } arrays[JAVA_MAX_ARRAYS];
} java_pins;

static void java_note(java_pins *pins, jobject array, void **address, jint release_mode) {
  *address = NULL;
  if (!array) return;
  pins->arrays[pins->count].array = (jarray)array;
  pins->arrays[pins->count].address = address;
  pins->arrays[pins->count].release_mode = release_mode;
  ++pins->count;
}

/* In reverse order, as the arrays were pinned. */
static void java_unpin(JNIEnv *jenv, java_pins *pins) {
  for (; pins->count > 0; --pins->count) {
    const int i = pins->count - 1;
    (*jenv)->ReleasePrimitiveArrayCritical(jenv, pins->arrays[i].array, *pins->arrays[i].address,
                                           pins->arrays[i].release_mode);
  }
}

static int java_pin(JNIEnv *jenv, java_pins *pins) {
  for (int i = 0; i < pins->count; ++i) {
    void *const address =
        (*jenv)->GetPrimitiveArrayCritical(jenv, pins->arrays[i].array, NULL);
    if (!address) {
      pins->count = i;
      java_unpin(jenv, pins);
      SWIG_JavaThrowException(jenv, SWIG_JavaOutOfMemoryError, "an array cannot be pinned");
      return 0;
    }
    *pins->arrays[i].address = address;
  }
  return 1;
}
%}

/* The address of a direct buffer's first byte, whatever its position; 0 for any other buffer. The
 * buffer must stay reachable while the address is used. */
%typemap(jni) java_buffer "jobject"
%typemap(jtype) java_buffer "java.nio.Buffer"
%typemap(jstype) java_buffer "java.nio.Buffer"
%typemap(javain) java_buffer "$javainput"
%typemap(in) java_buffer
  "$1 = $input ? (*jenv)->GetDirectBufferAddress(jenv, $input) : NULL;"
%insert(header) %{
typedef void *java_buffer;
static inline int64_t shim_buffer_address(java_buffer buffer) { return (int64_t)(intptr_t)buffer; }
%}
int64_t shim_buffer_address(java_buffer buffer);

%include "java_interface.i"
