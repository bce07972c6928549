"""Looks at a bundle for Maven Central as its portal does before it publishes one; signatures apart, which are not in it.

usage: maven_bundle_test.py BUNDLE GROUP ARTIFACT VERSION
"""

import hashlib
import io
import re
import sys
import zipfile
from xml.etree import ElementTree

ENDS = (".pom", ".jar", "-sources.jar", "-javadoc.jar")
# https://central.sonatype.org/publish/requirements
NEEDED_OF_POM = ("name", "description", "url", "licenses/license/name", "licenses/license/url", "developers/developer/name",
                 "developers/developer/organization", "developers/developer/organizationUrl", "scm/connection",
                 "scm/developerConnection", "scm/url")


def names_in(jar, pattern):
    return {found[1] for found in map(re.compile(pattern).fullmatch, zipfile.ZipFile(io.BytesIO(jar)).namelist())
            if found}


def problems_of_pom(text, coordinates):
    namespace = {"": "http://maven.apache.org/POM/4.0.0"}
    pom = ElementTree.fromstring(text)
    found = tuple(pom.findtext(name, namespaces=namespace) for name in ("groupId", "artifactId", "version"))
    if found != coordinates:
        yield f"the POM is of {found}"
    if found[2].endswith("-SNAPSHOT"):
        yield "the version is a snapshot"
    for name in NEEDED_OF_POM:
        if not (pom.findtext(name, namespaces=namespace) or "").strip():
            yield f"the POM has no {name}"


def problems_of_jars(parts):
    classes = names_in(parts[".jar"], r"(io/[^$]*)(?:\$.*)?\.class")
    sources = names_in(parts["-sources.jar"], r"(io/.*)\.java")
    for name in sorted(classes ^ sources):
        if not name.endswith("/package-info"):  # compiled, it would be empty
            yield f"{name} is only in one of the jar and the jar of sources"
    pages = names_in(parts["-javadoc.jar"], r"(?:io\.github\.libsampler/)?(.*)\.html")
    for name in ("index", "io/github/libsampler/Sampler"):
        if name not in pages:
            yield f"the javadoc has no {name}.html"


def problems_of_bundle(path, coordinates):
    group, artifact, version = coordinates
    start = f"{group.replace('.', '/')}/{artifact}/{version}/{artifact}-{version}"
    bundle = zipfile.ZipFile(path)
    files = {name: bundle.read(name) for name in bundle.namelist()}
    expected = {start + end + kind for end in ENDS for kind in ("", ".md5", ".sha1", ".sha256", ".sha512")}
    for name in sorted(expected ^ files.keys()):
        yield f"{name} is {'missing' if name in expected else 'not expected'}"
        return
    for end in ENDS:
        for kind in ("md5", "sha1", "sha256", "sha512"):
            if files[f"{start}{end}.{kind}"].decode() != hashlib.new(kind, files[start + end]).hexdigest():
                yield f"{kind} of {end} is another one"
    yield from problems_of_pom(files[f"{start}.pom"], coordinates)
    yield from problems_of_jars({end: files[start + end] for end in ENDS})


def main(path, *coordinates):
    problems = list(problems_of_bundle(path, coordinates))
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
