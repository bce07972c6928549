package io.github.libsampler.internal;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/**
 * Finds the native library: where the system property {@value #PROPERTY} says, and nowhere else if
 * it is set; else on java.library.path; else in the jar.
 */
final class NativeLibrary {
  private static final String PROPERTY = "libsampler.java.library";
  private static final String NAME = "sampler_java";
  private static final String CORE_FILE = "libsampler.so.1";

  private NativeLibrary() {}

  static void load() {
    final String path = System.getProperty(PROPERTY);
    if (path != null) {
      loadFromProperty(path);
    } else {
      loadFromPathOrJar();
    }
    if (RawJNI.shimInterface() != RawConstants.SHIM_INTERFACE) {
      throw new UnsatisfiedLinkError("the native library " + NAME
          + " that was found is of another version of libsampler than the jar");
    }
  }

  private static void loadFromPathOrJar() {
    try {
      System.loadLibrary(NAME);
    } catch (UnsatisfiedLinkError notOnPath) {
      try {
        loadFromJar();
      } catch (IOException | UnsatisfiedLinkError notInJar) {
        throw failure("the system property " + PROPERTY + " is not set; not on java.library.path ("
            + notOnPath.getMessage() + "); not in the jar (" + notInJar.getMessage() + ")",
            notInJar);
      }
    }
  }

  private static void loadFromProperty(String path) {
    try {
      System.load(Path.of(path).toAbsolutePath().toString());
    } catch (UnsatisfiedLinkError | IllegalArgumentException notThere) {
      throw failure("the system property " + PROPERTY + " is " + path + " ("
          + notThere.getMessage() + ")", notThere);
    }
  }

  /** The files are unpacked side by side and removed as soon as they are loaded. */
  private static void loadFromJar() throws IOException {
    final Path folder = Files.createTempDirectory("libsampler");
    final Path library = folder.resolve(System.mapLibraryName(NAME));
    final Path core = folder.resolve(CORE_FILE);
    try {
      if (!unpack(library)) {
        throw new IOException("it has no " + resource(library));
      }
      unpack(core); // Without it in the jar, the system's is taken.
      System.load(library.toString());
    } finally {
      Files.deleteIfExists(library);
      Files.deleteIfExists(core);
      Files.deleteIfExists(folder);
    }
  }

  private static boolean unpack(Path file) throws IOException {
    try (InputStream in = NativeLibrary.class.getResourceAsStream(resource(file))) {
      if (in == null) {
        return false;
      }
      Files.copy(in, file);
      return true;
    }
  }

  /** Where the jar has a file for this machine: /io/github/libsampler/native/linux-x86_64/NAME. */
  private static String resource(Path file) {
    final String system = System.getProperty("os.name").toLowerCase(Locale.ROOT);
    final String machine = System.getProperty("os.arch").replace("amd64", "x86_64");
    return "/io/github/libsampler/native/" + system + "-" + machine + "/" + file.getFileName();
  }

  private static UnsatisfiedLinkError failure(String message, Throwable cause) {
    final UnsatisfiedLinkError error =
        new UnsatisfiedLinkError("no native library of libsampler: " + message);
    error.initCause(cause);
    return error;
  }
}
