package io.github.libsampler;

import io.github.libsampler.internal.Layout;
import java.nio.ByteBuffer;

/**
 * Where the library's memory comes from: addresses of C functions, as sampler_allocator has them.
 * Java's own memory cannot be given: it moves.
 *
 * @param allocate of a sampler_allocate_fn
 * @param deallocate of a sampler_deallocate_fn
 * @param user what both get
 */
public record Allocator(long allocate, long deallocate, long user) {
  static final Allocator NONE = new Allocator(0, 0, 0);

  void write(ByteBuffer options, int at) {
    options.putLong(at + Layout.ALLOCATOR_ALLOCATE, allocate);
    options.putLong(at + Layout.ALLOCATOR_DEALLOCATE, deallocate);
    options.putLong(at + Layout.ALLOCATOR_USER, user);
  }
}
