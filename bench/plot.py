#!/usr/bin/env python3
"""Draws ns per call against the number of keys, ours and the rivals.

  plot.py REPORT.json PICTURE.svg

Written without a plotting library: two panels of lines need none, and the picture stays small and the same everywhere.
"""
import json
import math
import sys

WIDTH, HEIGHT = 960, 482
PANEL_WIDTH, TOP, BOTTOM, LEFT, GAP = 330, 78, 400, 62, 110
SERIES = (  # name in the report, label, colour, dashes
    ("penstock", "penstock", "#0b62a4", ""),
    ("penstock, batches of 32", "penstock, batches of 32", "#5aa5dd", ""),
    ("unordered_map+mutex", "unordered_map + mutex", "#b3421b", ""),
    ("64 shards", "64 shards of it", "#d98a3a", ""),
    ("oneTBB", "oneTBB map", "#6d8b3a", ""),
    (None, "machine: load + update", "#777777", "5 4"),
)


def points(results, program, kind, who):
    at = []
    for result in results:
        name = result["name"].split("/")
        if result["program"] != program:
            continue
        if (name[:2] == ["machine", "load+update"]) if who is None else (name[:5] == [kind, "uniform", "admitted", "given", who]):
            at.append((int(name[-1]), result["ns"]))
    return sorted(at)


def panel(results, program, kind, title, left, low, high):
    right = left + PANEL_WIDTH
    sizes = sorted({n for who in SERIES for n, _ in points(results, program, kind, who[0])}) or [1000, 10_000_000]
    x_of = lambda n: left + PANEL_WIDTH * (math.log10(n) - math.log10(sizes[0])) / (math.log10(sizes[-1] / sizes[0]) or 1)
    y_of = lambda ns: BOTTOM - (BOTTOM - TOP) * (math.log10(ns) - low) / (high - low)
    out = [f'<text class="title" x="{left}" y="{TOP - 16}">{title}</text>']
    for decade in range(low, high + 1):
        y = y_of(10**decade)
        out.append(f'<line class="grid" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        out.append(f'<text class="tick" text-anchor="end" x="{left - 8}" y="{y + 4:.1f}">{10**decade:,}</text>')
        for step in range(2, 10) if decade < high else ():
            y = y_of(step * 10**decade)
            out.append(f'<line class="fine" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
    for n in sizes:
        label = f"{n // 1_000_000} M" if n >= 1_000_000 else f"{n // 1000} k"
        out.append(f'<text class="tick" text-anchor="middle" x="{x_of(n):.1f}" y="{BOTTOM + 20}">{label}</text>')
    ends = []
    for who, _, colour, dashes in SERIES:
        at = points(results, program, kind, who)
        if not at:
            continue
        path = " ".join(f"{x_of(n):.1f},{y_of(ns):.1f}" for n, ns in at)
        out.append(f'<polyline points="{path}" stroke="{colour}"' + (f' stroke-dasharray="{dashes}"' if dashes else "") + "/>")
        if not dashes:
            out += [f'<circle cx="{x_of(n):.1f}" cy="{y_of(ns):.1f}" r="3.2" fill="{colour}"/>' for n, ns in at]
        ends.append([y_of(at[-1][1]), f"{at[-1][1]:.0f}", colour])
    ends.sort()
    for above, below in zip(ends, ends[1:]):  # the figures at the right must not cover each other
        below[0] = max(below[0], above[0] + 13)
    out += [f'<text class="end" x="{right + 9}" y="{y + 4:.1f}" fill="{colour}">{text}</text>' for y, text, colour in ends]
    return out


def main():
    with open(sys.argv[1]) as file:
        results = json.load(file)["results"]
    shown = [ns for p, kind in (("keyed", "integer"), ("texts", "text")) for who in SERIES for _, ns in points(results, p, kind, who[0])]
    if not shown:
        sys.exit("plot.py: the report has no keyed results")
    low, high = math.floor(math.log10(min(shown))), math.ceil(math.log10(max(shown)))
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="system-ui, Helvetica, Arial, sans-serif">',
        "<style>.title{font-size:15px;font-weight:600;fill:#222}.tick{font-size:12px;fill:#555}.end{font-size:12px;font-weight:600}"
        ".grid{stroke:#ccc}.fine{stroke:#eee}polyline{fill:none;stroke-width:2.2;stroke-linejoin:round}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text class="title" x="{LEFT}" y="28">Nanoseconds per admitted call against the number of keys (one thread, uniform, time given)</text>',
    ]
    second = LEFT + PANEL_WIDTH + GAP
    out += panel(results, "keyed", "integer", "integer keys", LEFT, low, high)
    out += panel(results, "texts", "text", "16-byte text keys", second, low, high)
    shown = [entry for entry in SERIES if points(results, "keyed", "integer", entry[0])]
    for i, (_, label, colour, dashes) in enumerate(shown):
        x, y = LEFT + 250 * (i % 3), HEIGHT - 34 + 20 * (i // 3)
        dash = f' stroke-dasharray="{dashes}"' if dashes else ""
        out.append(f'<line x1="{x}" x2="{x + 22}" y1="{y - 4}" y2="{y - 4}" stroke="{colour}" stroke-width="2.2"{dash}/>')
        out.append(f'<text class="tick" x="{x + 30}" y="{y}">{label}</text>')
    with open(sys.argv[2], "w") as file:
        file.write("\n".join(out + ["</svg>", ""]))


if __name__ == "__main__":
    main()
