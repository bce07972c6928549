package io.github.libsampler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each way in which the native library is found, or not, in a process of its own. */
final class NativeLibraryTest {
  private static final String JAR = System.getProperty("sampler.test.jar");

  private static final String PACKAGE = "io.github.libsampler.";

  /** A class of the package, as the jar has it. */
  private static final Pattern CLASS = Pattern.compile("io/github/libsampler/(\\w+)\\.class");

  /** libsampler_java.so, beside libsampler.so.1. */
  private static final Path LIBRARY = Path.of(System.getProperty("sampler.test.library"));

  /** A libsampler_java.so of another version. */
  private static final String OTHER_LIBRARY = System.getProperty("sampler.test.otherLibrary");

  /** For a machine of this name the jar has no library. */
  private static final String OTHER_MACHINE = "-Dos.arch=abacus";

  @TempDir Path folder;

  /** Prints the file that the library came from. */
  static final class Program {
    public static void main(String[] arguments) throws IOException {
      try (Sampler sampler = Sampler.builder().maxRows(1).maxCols(5).build()) {
        final int[] tokenId = new int[1];
        sampler.argmax(new Rows(new float[] {1, 2, 3}, 1, 3), tokenId);
        if (tokenId[0] != 2) {
          throw new AssertionError("token " + tokenId[0]);
        }
      } catch (UnsatisfiedLinkError e) {
        System.out.println(e.getMessage());
        return;
      }
      Files.lines(Path.of("/proc/self/maps")).filter(line -> line.contains("libsampler"))
          .map(line -> line.replaceAll("^[^/]*", "")).distinct().forEach(System.out::println);
    }
  }

  /** So that a program may import all of the packages that most programs import. */
  @Test
  void classesHaveNamesOfTheirOwn() throws IOException, ClassNotFoundException {
    final List<String> collisions = new ArrayList<>();
    int numClasses = 0;
    try (JarFile jar = new JarFile(JAR)) {
      for (JarEntry entry : Collections.list(jar.entries())) {
        final Matcher name = CLASS.matcher(entry.getName());
        if (!name.matches()
            || !Modifier.isPublic(Class.forName(PACKAGE + name.group(1)).getModifiers())) {
          continue;
        }
        ++numClasses;
        for (String other : List.of("java.io.", "java.lang.", "java.nio.", "java.util.",
            "java.util.concurrent.", "java.util.function.", "java.util.random.",
            "java.util.stream.")) {
          if (exists(other + name.group(1))) {
            collisions.add(other + name.group(1));
          }
        }
      }
    }
    assertTrue(numClasses > 50, numClasses + " classes");
    assertEquals(List.of(), collisions);
  }

  private static boolean exists(String name) {
    try {
      Class.forName(name);
      return true;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }

  private List<String> run(String... options) throws IOException, InterruptedException {
    final List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-Djava.io.tmpdir=" + folder);
    command.addAll(List.of(options));
    command.addAll(List.of("-cp", JAR + ":" + System.getProperty("sampler.test.classes"),
        Program.class.getName()));
    final ProcessBuilder builder =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
    builder.environment().remove("LD_LIBRARY_PATH");
    final Process process = builder.start();
    final String output = new String(process.getInputStream().readAllBytes());
    assertEquals(0, process.waitFor(), output);
    return List.of(output.split("\n"));
  }

  @Test
  void systemProperty() throws Exception {
    final List<String> lines = run("-Dlibsampler.java.library=" + LIBRARY, OTHER_MACHINE);
    assertTrue(lines.contains(LIBRARY.toRealPath().toString()), lines.toString());
  }

  @Test
  void systemPropertyThatNamesNoLibrary() throws Exception {
    final List<String> lines = run("-Dlibsampler.java.library=/nowhere/lib.so",
        "-Djava.library.path=" + LIBRARY.getParent());
    assertEquals(1, lines.size(), lines.toString());
    assertTrue(lines.get(0).startsWith("no native library of libsampler: the system property"
        + " libsampler.java.library is /nowhere/lib.so ("), lines.toString());
    final Path text = Files.writeString(folder.resolve("text.so"), "no library");
    final List<String> ofText = run("-Dlibsampler.java.library=" + text);
    final String last = ofText.get(ofText.size() - 1); // the JVM warns of the file before
    assertTrue(last.startsWith("no native library of libsampler: "), ofText.toString());
    assertTrue(last.matches(".*text.so.*(file too short|invalid ELF header).*"), ofText.toString());
  }

  @Test
  void libraryPath() throws Exception {
    final List<String> lines = run("-Djava.library.path=" + LIBRARY.getParent());
    assertTrue(lines.contains(LIBRARY.toRealPath().toString()), lines.toString());
  }

  @Test
  void jar() throws Exception {
    final List<String> lines = run("-Djava.library.path=" + folder);
    assertEquals(2, lines.size(), lines.toString());
    for (String line : lines) { // both libraries, which are removed once they are loaded
      assertTrue(line.startsWith(folder.toRealPath() + "/libsampler"), line);
      assertTrue(line.endsWith(" (deleted)"), line);
    }
    try (var files = Files.list(folder)) {
      assertEquals(List.of(), files.toList());
    }
  }

  @Test
  void libraryOfAnotherVersion() throws Exception {
    assertEquals(List.of("the native library sampler_java that was found is of another version of"
        + " libsampler than the jar"), run("-Dlibsampler.java.library=" + OTHER_LIBRARY));
  }

  @Test
  void nowhere() throws Exception {
    final List<String> lines = run("-Djava.library.path=" + folder, OTHER_MACHINE);
    assertEquals(1, lines.size(), lines.toString());
    assertTrue(lines.get(0).startsWith("no native library of libsampler: the system property"
        + " libsampler.java.library is not set; not on java.library.path ("), lines.toString());
    assertTrue(lines.get(0).contains("; not in the jar (it has no /io/github/libsampler/native/"
        + "linux-abacus/libsampler_java.so)"), lines.toString());
  }
}
