"""Packs what Maven Central's portal takes: the jar, the jars of sources and javadoc, the POM, and their checksums, in the
folders of a repository. The same files give the same bytes. Signatures are left to who publishes.

usage: maven_bundle.py BINDINGS_JAVA JAR JAVADOC_DIR BUNDLE
"""

import hashlib
import io
import pathlib
import re
import sys
import zipfile

TIME = (1980, 1, 1, 0, 0, 0)


def packed(files):
    """A zip file's bytes, of contents by name."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, files[name])
    return buffer.getvalue()


def files_below(*folders):
    return {path.relative_to(folder).as_posix(): path.read_bytes()
            for folder in folders for path in folder.rglob("*") if path.is_file()}


def with_checksums(files):
    sums = {f"{name}.{kind}": hashlib.new(kind, contents).hexdigest().encode()
            for name, contents in files.items() for kind in ("md5", "sha1", "sha256", "sha512")}
    return files | sums


def main(bindings, jar, javadoc, bundle):
    pom = (bindings / "pom.xml").read_bytes()
    group, artifact, version = (re.search(rf"^  <{name}>(.*)</{name}>", pom.decode(), flags=re.M)[1]
                                for name in ("groupId", "artifactId", "version"))
    manifest = {"META-INF/MANIFEST.MF": b"Manifest-Version: 1.0\r\n\r\n"}
    parts = {
        ".pom": pom,
        ".jar": jar.read_bytes(),
        "-sources.jar": packed(manifest | files_below(bindings / "src/main/java", bindings / "src/main/generated")),
        "-javadoc.jar": packed(manifest | files_below(javadoc)),
    }
    folder = f"{group.replace('.', '/')}/{artifact}/{version}"
    bundle.write_bytes(packed(with_checksums(
        {f"{folder}/{artifact}-{version}{end}": contents for end, contents in parts.items()})))


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
