"""Makes Doxygen's comments of the plain ones of a public header: Doxygen's INPUT_FILTER.

usage: doc_comments.py HEADER    writes the header to the standard output

A comment is of what follows it, or of what stands before it on its line. One with a rule
(/* ---- ... */), or with an empty line after it in a struct, is a heading. Paragraphs that are indented or
have columns stay as they are written. Names that the headers declare become links.
"""

import pathlib
import re
import sys

TOKEN = re.compile(r"""
    (?P<code>^static\ inline\ [^;{]*\{.*?^\} | ^\#(?:[^\n\\]|\\\n)*)   # whose comments are no documentation
  | (?P<opening>\b(?:struct|enum)\b[^;{}()]*\{)
  | (?P<closing>\})
  | /\*(?P<comment>.*?)\*/(?P<after>\n*)
""", re.M | re.S | re.X)
DECLARED = re.compile(r"\b(sampler_\w+)\(|\(\*(sampler_\w+)\)|^\} (sampler_\w+);"
                      r"|^typedef [^({;]*?(sampler_\w+);|\b(SAMPLER_\w+) =", re.M)
NAME = re.compile(r"\b(?:sampler|SAMPLER)_\w+\b")
SPECIAL = re.compile(r"[\\@<>&#%\"]")
OPEN, CLOSE = "/** @{ */\n", "/** @} */\n"


def names_in(folder):
    texts = (re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S) for header in folder.glob("*.h"))
    return {name for text in texts for found in DECLARED.findall(text) for name in found if name}


def paragraphs_of(comment):
    """Lists of lines, without the stars at their beginning."""
    lines = [re.sub(r"^\s*\* ?", "", line).rstrip() for line in comment.strip().split("\n")]
    return [part.split("\n") for part in re.split(r"\n{2,}", "\n".join(lines).strip("\n"))]


def is_preformatted(paragraph):
    return not paragraph[0].startswith("- ") and (
        paragraph[0].startswith("  ") or any(re.search(r"\S {2,}\S", line) for line in paragraph))


class Filter:
    def __init__(self, header):
        self.text = header.read_text()
        self.name = header.name
        self.names = names_in(header.parent)
        self.container = ""  # the beginning of the struct or enum that is open
        self.groups = []  # of the headings that are open: whether they are in a struct

    def linked(self, lines):
        plain = re.sub(r"`([^`]*)`", r"<tt>\1</tt>", SPECIAL.sub(r"\\\g<0>", "\n".join(lines)))
        plain = re.sub(r"\bet al\.\s", r"et al.\\ ", plain)  # which ends no sentence
        return NAME.sub(lambda found: f'@ref {found[0]} "{found[0]}"' if found[0] in self.names
                        else found[0], plain)

    def documentation(self, paragraphs):
        return "\n\n".join("\n".join(["@verbatim", *lines, "@endverbatim"]) if is_preformatted(lines)
                           else self.linked(lines) for lines in paragraphs)

    def close_groups(self, is_inner):
        count = len([group for group in self.groups if group >= is_inner])
        self.groups = self.groups[:len(self.groups) - count]
        return CLOSE * count

    def heading(self, paragraphs):
        title, _, text = " ".join(paragraphs[0]).strip("- ").partition(". ")
        is_inner = bool(self.container)
        closed = self.close_groups(is_inner)
        self.groups.append(is_inner)
        body = self.documentation([[text], *paragraphs[1:]])
        return f"{closed}/** @name {title}\n{body} */\n{OPEN}"

    def comment(self, found):
        paragraphs = paragraphs_of(found["comment"])
        line = self.text[self.text.rfind("\n", 0, found.start()) + 1:found.start()]
        if found.start() == 0:
            kinds = ["mainpage libsampler"] if self.name == "sampler.h" else []
            return "\n".join(f"/** @{kind}\n{self.documentation(paragraphs)} */"
                             for kind in [*kinds, f"file {self.name}"]) + found["after"]
        if line.strip():
            return f"/**< {self.documentation(paragraphs)} */{found['after']}"
        in_struct = "struct" in self.container and found["after"].startswith("\n\n")
        if in_struct or found["comment"].startswith(" ----"):
            return self.heading(paragraphs) + found["after"]
        return f"/** {self.documentation(paragraphs)} */{found['after']}"

    def token(self, found):
        if found["comment"] is not None:
            return self.comment(found)
        if found["opening"]:
            self.container = found[0]
        elif found["closing"]:
            closed = self.close_groups(bool(self.container))
            self.container = ""
            return closed + found[0]
        elif found[0] == "#ifdef __cplusplus":  # behind which nothing is of the file's groups
            return self.close_groups(False) + found[0]
        return found[0]

    def run(self):
        return TOKEN.sub(self.token, self.text)


if __name__ == "__main__":
    sys.stdout.write(Filter(pathlib.Path(sys.argv[1])).run())
