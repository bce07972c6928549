import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/**
 * Packs a jar that depends on nothing but its contents: entries by name, all of one time.
 *
 * <p>usage: java PackJar.java JAR FOLDER VERSION
 */
final class PackJar {
  private static final LocalDateTime TIME = LocalDateTime.of(1980, 1, 1, 0, 0);

  private PackJar() {}

  private static void add(ZipOutputStream jar, String name, byte[] bytes) throws IOException {
    final ZipEntry entry = new ZipEntry(name);
    entry.setTimeLocal(TIME);
    jar.putNextEntry(entry);
    jar.write(bytes);
    jar.closeEntry();
  }

  public static void main(String[] arguments) throws IOException {
    final Path folder = Path.of(arguments[1]);
    final List<Path> files;
    try (Stream<Path> all = Files.walk(folder)) {
      files = all.filter(Files::isRegularFile).sorted().collect(Collectors.toList());
    }
    final String manifest = "Manifest-Version: 1.0\r\nImplementation-Title: libsampler\r\n"
        + "Implementation-Version: " + arguments[2] + "\r\n\r\n";
    try (OutputStream file = Files.newOutputStream(Path.of(arguments[0]));
        ZipOutputStream jar = new ZipOutputStream(file)) {
      add(jar, "META-INF/MANIFEST.MF", manifest.getBytes(StandardCharsets.US_ASCII));
      for (Path path : files) {
        add(jar, folder.relativize(path).toString(), Files.readAllBytes(path));
      }
    }
  }
}
