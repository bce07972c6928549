package io.github.libsampler;

/**
 * Arguments of a full call: one class for each, with a method for each member of the C struct,
 * which stands in the headers under the same name, {@code out_token_ids} for {@code outTokenIds}.
 *
 * <p>An object, and those it is made of, serves any number of calls, and only what changes between
 * them need be set again. The full calls themselves allocate nothing.
 *
 * <p>The object is not for two threads at a time: one may see what the other has set half.
 */
public abstract class Arguments {
  Arguments() {}

  /** Writes the struct and returns the number of the call. */
  abstract int write(Call call);

  static <T> T required(String name, T value) {
    if (value == null) {
      throw new NullPointerException(name + " is null; it is required");
    }
    return value;
  }
}
