package io.github.libsampler;

/** Functions of C, in hooks.c. */
final class Hooks {
  static {
    System.load(System.getProperty("sampler.test.hooks"));
  }

  private Hooks() {}

  /** Addresses of functions. */
  static native long allocate();

  static native long deallocate();

  static native long parallelFor();

  /** What they get as their user: counts, which are never freed. */
  static native long newCounts();

  /** Bytes that are allocated. */
  static native long bytes(long counts);

  /** How often tasks were run, or memory allocated. */
  static native long calls(long counts);
}
