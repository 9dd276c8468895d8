#!/usr/bin/env python3
"""What the umbrella header costs to compile, beside the standard headers that it needs.

  compile_time.py REPETITIONS OUTPUT.json

The standard headers are read off the library's own includes, so that the comparison stays right by itself. Intrinsics
and system headers are not among them: what the library adds there, it pays for. Times are those of the processor.
"""
import json
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

INCLUDE = pathlib.Path(__file__).resolve().parent.parent / "include"
UMBRELLA = "penstock/penstock.hpp"


def includes_of(header, seen):
    """Names of the C++ standard headers that this header and ours below it include."""
    standard = set()
    for name in re.findall(r"^#\s*include <([^>]+)>", (INCLUDE / header).read_text(), re.MULTILINE):
        if name.startswith("penstock/"):
            if name not in seen:
                seen.add(name)
                standard |= includes_of(name, seen)
        elif "." not in name:
            standard.add(name)
    return standard


def processor_time(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    repetitions, output = int(sys.argv[1]), sys.argv[2]
    standard = "".join(f"#include <{name}>\n" for name in sorted(includes_of(UMBRELLA, set())))
    umbrella = f"#include <{UMBRELLA}>\n"
    use = (
        "bool f(penstock::token_bucket<std::string>& limiter, std::string_view key) {\n"
        "  return static_cast<bool>(limiter.allow(key));\n}\n"
    )
    texts = {"standard headers": standard, "umbrella": umbrella, "umbrella and one limiter": umbrella + use}
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            pathlib.Path(folder, name.replace(" ", "_") + ".cpp").write_text(text + "int main() {}\n")
        for compiler in filter(shutil.which, ("g++", "clang++")):
            times = {name: [] for name in texts}
            for _ in range(repetitions):
                for name in texts:
                    file = os.path.join(folder, name.replace(" ", "_") + ".cpp")
                    command = [compiler, "-std=c++20", "-O2", "-I", str(INCLUDE), "-c", file, "-o", os.devnull]
                    times[name].append(processor_time(command))
            results[compiler] = {name: statistics.median(seconds) for name, seconds in times.items()}
    pathlib.Path(output).write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
