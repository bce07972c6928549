package io.github.libsampler;

import io.github.libsampler.internal.Raw;
import io.github.libsampler.internal.RawConstants;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;

/**
 * What to cut off caches after a round of drafts.
 *
 * @param target tokens at the end of the target's cache
 * @param drafter tokens at the end of the drafter's
 * @param missing drafts that were kept and that the drafter has not been fed, 0 or 1
 */
public record PruneCount(long target, long drafter, long missing) {
  /**
   * Returns what to cut off: the target was fed all drafts, the drafter all but the last.
   *
   * @param numDrafted drafts of the round
   * @param numEmitted how many of the first were kept, in [0, numDrafted]
   * @return what to cut off
   */
  public static PruneCount of(long numDrafted, long numEmitted) {
    final ByteBuffer memory = new Buffers().ofBytes(3 * Long.BYTES + RawConstants.SHIM_ERROR_BYTES);
    final long address = Raw.javaAddress(memory);
    final Status status = Status.of(
        Raw.shimPruneCount(numDrafted, numEmitted, address, address + 3 * Long.BYTES));
    Reference.reachabilityFence(memory);
    if (status != Status.OK) {
      throw SamplerException.of(status, Presets.text(memory.position(3 * Long.BYTES)));
    }
    return new PruneCount(memory.getLong(0), memory.getLong(8), memory.getLong(16));
  }
}
