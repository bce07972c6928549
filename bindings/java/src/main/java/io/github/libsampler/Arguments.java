package io.github.libsampler;

/**
 * Arguments of a call: one class for each operation, with a method for each member of the C struct,
 * which stands in the headers under the same name, {@code num_rows} for {@code numRows}.
 *
 * <p>An object serves any number of calls, and only what changes between them need be set again.
 * The calls themselves allocate nothing.
 *
 * <p>Arrays are Java arrays from their first element on; direct buffers in the machine's byte
 * order, from their position to their limit when they are set; or, on a CUDA sampler, addresses of
 * device memory. A {@code ByteBuffer} may hold elements of any type. Null sets the member back to
 * none. Lengths are checked at the call; arrays may be longer than needed.
 *
 * <p>The object is not for two threads at a time: one may see what the other has set half.
 */
public abstract class Arguments {
  Arguments() {}

  /**
   * Checks the arrays and calls the library, or asks it for the bytes of workspace, which needs no
   * checks since no array is touched.
   *
   * @return 0, or the bytes; minus the status on failure
   */
  abstract long run(Handle sampler, boolean onlySize);

  static <T> T required(String name, T value) {
    if (value == null) {
      throw new NullPointerException(name + " is null; it is required");
    }
    return value;
  }
}
