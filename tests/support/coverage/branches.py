#!/usr/bin/env python3
"""branches.py BUILD: which branches of the arithmetic no test takes, from the counts that a coverage build left.

The arithmetic is include/penstock/algorithm/, time.hpp and rate.hpp, there the lines that decide something: with an if,
a loop, a condition. g++ counts each instance of a template by itself; a branch is taken when it is in any of them. Not
counted: what an exception skips, and asserts. Exits with 1 when a branch is left that stands not in `explained`.
"""

import collections
import json
import math
import pathlib
import re
import subprocess
import sys

# A line's text, and why no test can take all its branches.
explained = {}

build = pathlib.Path(sys.argv[1]).resolve()
root = pathlib.Path(__file__).resolve().parents[3]
headers = root / "include" / "penstock"
decides = re.compile(r"\b(if|for|while)\b(?! constexpr)|\?|&&|\|\|")


def is_arithmetic(path):
    return path.is_relative_to(headers / "algorithm") or path in (headers / "time.hpp", headers / "rate.hpp")


counts = collections.defaultdict(list)  # of a line: of each object file, its branches' counts
objects = [str(path) for path in build.rglob("*.gcda")]
told = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", *objects],
                      capture_output=True, check=True, cwd=build)
for document in told.stdout.splitlines():
    for file in json.loads(document)["files"]:
        path = (build / file["file"]).resolve()
        if not is_arithmetic(path):
            continue
        for line in file["lines"]:
            branches = [branch["count"] for branch in line["branches"] if not branch["throw"]]
            if len(branches) > 1:
                counts[path, line["line_number"]].append(branches)

total = taken = 0
left = []
for (path, number), of_objects in sorted(counts.items()):
    text = path.read_text().split("\n")[number - 1].strip()
    if "assert(" in text or not decides.search(text.split("//")[0]):
        continue
    # Instances follow one another, so a line has a multiple of its own branches.
    own = math.gcd(*map(len, of_objects))
    sums = [0] * own
    for branches in of_objects:
        for i, count in enumerate(branches):
            sums[i % own] += count
    total += own
    taken += sum(count > 0 for count in sums)
    if 0 in sums and text not in explained:
        left.append(f"{path.relative_to(headers)}:{number}: taken {sums}: {text}")

print(f"branches of the arithmetic: {taken} of {total}, {len(explained)} lines explained")
print(*left, sep="\n")
sys.exit(1 if left or total == 0 else 0)
