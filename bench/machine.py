#!/usr/bin/env python3
"""Writes what the figures of a report depend on: machine.py OUTPUT.json"""
import json
import os
import pathlib
import platform
import re
import subprocess
import sys


def output_of(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def first_match(pattern, path):
    try:
        found = re.search(pattern, pathlib.Path(path).read_text())
    except OSError:
        found = None
    return found[1] if found else "unknown"


def main():
    cpu = dict(re.findall(r"^\s*([^:\n]+):\s+(.+)$", output_of(["lscpu"]), re.MULTILINE))
    virtual = f", virtual ({cpu['Hypervisor vendor']})" if "Hypervisor vendor" in cpu else ""
    kilobytes = first_match(r"MemTotal:\s+(\d+)", "/proc/meminfo")
    system = first_match(r'PRETTY_NAME="([^"]+)', "/etc/os-release")
    facts = {
        "processor": f"{cpu.get('Model name', '?')} (family {cpu.get('CPU family', '?')}, model {cpu.get('Model', '?')})",
        "processors": f"{os.cpu_count()}{virtual}",
        "caches": ", ".join(f"{level} {cpu[level + ' cache']}" for level in ("L1d", "L2", "L3") if level + " cache" in cpu),
        "memory": f"{int(kilobytes) / 2**20:.0f} GiB" if kilobytes.isdigit() else kilobytes,
        "huge pages": first_match(r"\[(\w+)\]", "/sys/kernel/mm/transparent_hugepage/enabled"),
        "clock source": first_match(r"(\S+)", "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "system": f"{system}, Linux {platform.release().split('-')[0]}",
        "compiler": output_of(["g++", "--version"]).split("\n")[0] + ", -O3",
        "load before": f"{os.getloadavg()[0]:.2f}",
    }
    pathlib.Path(sys.argv[1]).write_text(json.dumps(facts, indent=1))


if __name__ == "__main__":
    main()
