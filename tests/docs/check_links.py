"""Finds links that lead nowhere. Those to other hosts are not followed.

usage: check_links.py markdown PROJECT_DIR    of every .md file
       check_links.py html DIR                of every .html file
"""

import html.parser
import pathlib
import re
import sys
import urllib.parse

LEFT_OUT = {"build", "target", "node_modules"}


def headings_of(text):
    """The fragments that GitHub gives the headings: of those that are the same the second has -1."""
    fragments, counts = set(), {}
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    for heading in re.findall(r"^#+ +(.*?) *#*$", text, flags=re.M):
        shown = re.sub(r"!?\[([^]]*)\]\([^)]*\)|[`*]", r"\1", heading)
        fragment = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        number = counts.get(fragment, 0)
        counts[fragment] = number + 1
        fragments.add(f"{fragment}-{number}" if number else fragment)
    return fragments | set(re.findall(r'<a (?:name|id)="([^"]+)"', text))


def links_of_markdown(text):
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.M | re.S)
    return (re.findall(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)", text) +
            re.findall(r"^\[[^]]+\]: +(\S+)", text, flags=re.M) +
            re.findall(r'<(?:a|img)\b[^>]*\b(?:href|src)="([^"]+)"', text))


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.fragments = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or (tag == "a" and name == "name"):
                self.fragments.add(value)
            elif name in ("href", "src"):
                self.links.append(value)


class Site:
    """All files of a kind in a folder, what they link to, and what can be linked to in each."""

    def __init__(self, root, kind):
        self.root = pathlib.Path(root).resolve()
        self.links, self.fragments = {}, {}
        for file in sorted(self.root.rglob(f"*.{'md' if kind == 'markdown' else 'html'}")):
            parts = file.relative_to(self.root).parts
            if any(part in LEFT_OUT or part.startswith((".", "build-")) for part in parts[:-1]):
                continue
            text = file.read_text()
            if kind == "markdown":
                self.links[file], self.fragments[file] = links_of_markdown(text), headings_of(text)
            else:
                page = Page(text)
                self.links[file], self.fragments[file] = page.links, page.fragments

    def problem(self, file, link):
        address = urllib.parse.urlsplit(link)
        if address.scheme or address.netloc:
            return None
        target = (file.parent / urllib.parse.unquote(address.path)).resolve() if address.path else file
        if not target.exists():
            return "there is no such file"
        if self.root not in [target, *target.parents]:
            return "leads out of the folder"
        if address.fragment and target in self.fragments:
            if urllib.parse.unquote(address.fragment) not in self.fragments[target]:
                return "there is no such place in it"
        return None

    def problems(self):
        if not any(self.links.values()):
            return [f"{self.root}: no links at all"]
        return [f"{file.relative_to(self.root)}: {link}: {problem}"
                for file, links in self.links.items() for link in links
                if (problem := self.problem(file, link))]


if __name__ == "__main__":
    found = Site(sys.argv[2], sys.argv[1]).problems()
    print("\n".join(found))
    sys.exit(1 if found else 0)
