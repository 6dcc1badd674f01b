#!/usr/bin/env python3
"""Completes the book: mdBook passes it on standard input, and reads it back (https://rust-lang.github.io/mdBook/for_developers/preprocessors.html).

- The pages beside docs (README.md aside, which the first page of docs stands for) and the decisions become chapters.
- A link to such a page leads to its chapter. A link to another file leads to the repository that GitHub names or Cargo.toml has; without
  one, only its text stays.
"""

import json
import os
import pathlib
import posixpath
import re
import sys

DOCS = pathlib.Path(__file__).resolve().parent
ROOT = DOCS.parent
# The pages beside docs, with their places in the book. SECURITY.html and security.html would be one file on some systems.
BESIDE = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security-policy.md"}
LINK = re.compile(r"(!?)\[((?:!\[[^\]]*\]\([^)]*\)|[^\[\]])*)\]\(([^()\s]+)\)")


def place(path):
    """Where the page at a path from the root of the repository is in the book."""
    return BESIDE.get(path) or posixpath.relpath(path, "docs")


def chapter(path, parents=(), number=None):
    """A chapter of a page, at its path from the root of the repository."""
    text = (ROOT / path).read_text()
    title = text.split("\n", 1)[0].removeprefix("# ")
    return {"Chapter": {
        "name": title, "content": text, "number": number, "sub_items": [], "path": place(path), "source_path": path, "parent_names": list(parents),
    }}


def repository():
    """The address of the files of the main branch, if the repository has one."""
    server, name = os.environ.get("GITHUB_SERVER_URL"), os.environ.get("GITHUB_REPOSITORY")
    of_cargo = re.search(r'^repository = "(.*)"$', (ROOT / "Cargo.toml").read_text(), re.M)
    address = f"{server}/{name}" if server and name else of_cargo and of_cargo[1]
    return address and f"{address}/blob/main"


def leading(text, path, files):
    """The text of the page at a path from the root of the repository, with links that lead somewhere in the book."""
    folder, of_book = posixpath.dirname(path), posixpath.dirname(place(path))

    def link(match):
        image, label, target = match[1], LINK.sub(link, match[2]), match[3]
        if "://" in target or target.startswith("#"):
            return f"{image}[{label}]({target})"
        file, mark, heading = target.partition("#")
        file = posixpath.normpath(posixpath.join(folder, file))
        if file == "README.md":
            file = "docs/README.md"
        if file.startswith("docs/") or file in BESIDE:
            # mdBook gives a README.md the name of its folder's first page.
            there = re.sub(r"README\.md$", "index.md", place(file))
            return f"{image}[{label}]({posixpath.relpath(there, of_book or '.')}{mark}{heading})"
        return f"{image}[{label}]({files}/{file}{mark}{heading})" if files else label

    parts = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    return "".join(part if at % 2 else LINK.sub(link, part) for at, part in enumerate(parts))


def complete(book):
    items = book["items"]
    chapters = [item["Chapter"] for item in items if "Chapter" in item]
    decisions = next(of for of in chapters if of["path"] == "decisions/README.md")
    records = enumerate(sorted((DOCS / "decisions").glob("0*.md")), 1)
    # The number puts them below their index.
    decisions["sub_items"] = [
        chapter(f"docs/decisions/{path.name}", [decisions["name"]], [*decisions["number"], at]) for at, path in records
    ]
    items.extend(chapter(path) for path in BESIDE)
    files = repository()
    every = [item["Chapter"] for item in items if "Chapter" in item] + [item["Chapter"] for item in decisions["sub_items"]]
    beside = {there: path for path, there in BESIDE.items()}
    for of in every:
        of["content"] = leading(of["content"], beside.get(of["path"], f"docs/{of['path']}"), files)
    return book


def main():
    if sys.argv[1:2] == ["supports"]:
        sys.exit(0 if sys.argv[2:] == ["html"] else 1)
    _, book = json.load(sys.stdin)
    json.dump(complete(book), sys.stdout)


if __name__ == "__main__":
    main()
