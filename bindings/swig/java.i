/* Java: handles and addresses as long, structs in memory outside the Java heap that a ByteBuffer
 * shows. */

%javaconst(1);
%pragma(java) jniclassclassmodifiers = "final class"
%pragma(java) jniclasscode = %{
  static {
    NativeLibrary.load();
  }
%}
%pragma(java) moduleclassmodifiers = "public final class"

%typemap(jni) int32_t "jint"
%typemap(jtype) int32_t "int"
%typemap(jstype) int32_t "int"
%typemap(jni) int64_t, shim_address, shim_handle * "jlong"
%typemap(jtype) int64_t, shim_address, shim_handle * "long"
%typemap(jstype) int64_t, shim_address, shim_handle * "long"

%typemap(in) int32_t, int64_t, shim_address "$1 = ($1_ltype)$input;"
%typemap(out) int32_t, int64_t "$result = $1;"
%typemap(out) shim_address "$result = (jlong)$1;"
%typemap(in) shim_handle * "$1 = (shim_handle *)(intptr_t)$input;"
%typemap(out) shim_handle * "$result = (jlong)(intptr_t)$1;"

%typemap(javain) int32_t, int64_t, shim_address, shim_handle * "$javainput"
%typemap(javaout) int32_t, int64_t, shim_address, shim_handle * "{
    return $jnicall;
  }"

%typemap(in, numinputs=0) JNIEnv * "$1 = jenv;"

/* A direct buffer, as the address of its first byte, whatever its position; 0 for any other. It must
 * stay reachable while the address is used. */
%typemap(jni) java_buffer "jobject"
%typemap(jtype) java_buffer "java.nio.Buffer"
%typemap(jstype) java_buffer "java.nio.Buffer"
%typemap(javain) java_buffer "$javainput"
%typemap(in) java_buffer "$1 = $input ? (*jenv)->GetDirectBufferAddress(jenv, $input) : NULL;"

%typemap(jni) java_new_buffer "jobject"
%typemap(jtype) java_new_buffer "java.nio.ByteBuffer"
%typemap(jstype) java_new_buffer "java.nio.ByteBuffer"
%typemap(out) java_new_buffer "$result = $1;"
%typemap(javaout) java_new_buffer "{
    return $jnicall;
  }"

%inline %{
typedef void *java_buffer;
typedef jobject java_new_buffer;

static inline int64_t java_address(java_buffer buffer) { return (int64_t)(intptr_t)buffer; }

/* Memory of zeros, which java_free must be given; null when there is none. */
static inline java_new_buffer java_allocate(JNIEnv *jenv, int64_t bytes) {
  void *const memory = calloc(1, (size_t)bytes);
  jobject buffer = memory ? (*jenv)->NewDirectByteBuffer(jenv, memory, bytes) : NULL;
  if (!buffer) free(memory);
  return buffer;
}

static inline void java_free(java_buffer buffer) { free(buffer); }
%}

%insert(header) %{
_Static_assert(sizeof(void *) == 8, "Layout.java has the offsets of a 64-bit machine");

enum { JAVA_MAX_ARRAYS = 160 };

/* Lets go of the first `count` arrays, in the reverse of the order in which they were pinned. */
static void java_unpin(JNIEnv *jenv, jobject *arrays, const int64_t *places, int32_t count) {
  for (int32_t i = count - 1; i >= 0; --i) {
    void **const member = (void **)(intptr_t)(places[i] & ~INT64_C(1));
    (*jenv)->ReleasePrimitiveArrayCritical(jenv, arrays[i], *member,
                                           places[i] & 1 ? 0 : JNI_ABORT);
  }
}

/* shim_call with Java arrays: `places` has the address of the pointer that each array's address goes
 * to, plus 1 where the array is written. All are pinned right before the call and let go right after
 * it, with no other JNI call between. The caller has checked their types and lengths. */
static int64_t java_call(JNIEnv *jenv, shim_handle *handle, int32_t only_size, int32_t operation,
                         shim_address args, jobjectArray arrays, int32_t num_arrays,
                         shim_address places_address) {
  const int64_t *const places = (const int64_t *)places_address;
  jobject pinned[JAVA_MAX_ARRAYS];
  if ((*jenv)->EnsureLocalCapacity(jenv, num_arrays)) return 0;
  for (int32_t i = 0; i < num_arrays; ++i) {
    pinned[i] = (*jenv)->GetObjectArrayElement(jenv, arrays, i);
  }
  for (int32_t i = 0; i < num_arrays; ++i) {
    void *const memory = (*jenv)->GetPrimitiveArrayCritical(jenv, pinned[i], NULL);
    if (!memory) {
      java_unpin(jenv, pinned, places, i);
      SWIG_JavaThrowException(jenv, SWIG_JavaOutOfMemoryError, "an array cannot be pinned");
      return 0;
    }
    *(void **)(intptr_t)(places[i] & ~INT64_C(1)) = memory;
  }
  const int64_t result = shim_call(handle, only_size, operation, args);
  java_unpin(jenv, pinned, places, num_arrays);
  return result;
}
%}
int64_t java_call(JNIEnv *jenv, shim_handle *handle, int32_t only_size, int32_t operation,
                  shim_address args, jobjectArray arrays, int32_t num_arrays,
                  shim_address places_address);

%include "java_interface.i"
