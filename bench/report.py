#!/usr/bin/env python3
"""Makes the report out of what the benchmark programs wrote.

  report.py FOLDER                    reads FOLDER/*.json, writes FOLDER/report.json and FOLDER/report.md
  report.py FOLDER --docs PAGE.md     also puts the tables between the two markers in that page
"""
import collections
import json
import pathlib
import re
import statistics
import sys

BEGIN, END = "<!-- begin: written by bench/run -->", "<!-- end: written by bench/run -->"
RIVALS = ("unordered_map+mutex", "64 shards", "oneTBB")


# ---- reading -----------------------------------------------------------------------------------------------------------


class Results:
    """Medians over all repetitions, by benchmark name.

    One thread's time is the processor's, which other processes lengthen least; several threads' is from the first start
    to the last end.
    """

    def __init__(self, folder):
        runs = collections.defaultdict(list)
        self.context = {}
        self.programs = {}  # name of a benchmark -> programs that have it: the machine's limits are measured by several
        for file in sorted(folder.glob("bench_*.json")):
            text = file.read_text()
            if not text.strip():
                continue  # stopped before it began
            document = json.loads(text)
            self.context = self.context or document["context"]
            program = re.sub(r"bench_|\..*", "", file.name)
            for run in document["benchmarks"]:
                if run["run_type"] == "iteration" and not run.get("error_occurred"):
                    name = re.sub(r"/(iterations:\d+|manual_time|real_time|repeats:\d+)", "", run["run_name"])
                    runs[program, name].append(run)
        self.medians = {key: self.median(group) for key, group in runs.items()}
        compiled = folder / "compile_time.json"
        self.compile_time = json.loads(compiled.read_text()) if compiled.exists() else {}
        machine = folder / "machine.json"
        self.machine = json.loads(machine.read_text()) if machine.exists() else {}

    KNOWN = {"name", "run_name", "run_type", "repetitions", "repetition_index", "threads", "iterations", "real_time", "cpu_time",
             "time_unit", "family_index", "per_family_instance_index", "items_per_second"}  # fmt: skip

    @classmethod
    def median(cls, runs):
        times = [1e9 / run["items_per_second"] if "items_per_second" in run else run["cpu_time"] for run in runs]
        middle = statistics.median(times)
        result = {"ns": middle, "spread": (max(times) - min(times)) / middle if middle else 0, "runs": len(times)}
        for counter in set(runs[0]) - cls.KNOWN:
            values = [run[counter] for run in runs if isinstance(run.get(counter), (int, float))]
            if values:
                result[counter] = max(values) if counter == "worst" else statistics.median(values)
        return result

    def get(self, program, *name):
        return self.medians.get((program, "/".join(str(part) for part in name)))

    def ns(self, program, *name):
        found = self.get(program, *name)
        return found["ns"] if found else None

    def names(self, program, first):
        return [name.split("/") for p, name in self.medians if p == program and name.split("/")[0] == first]


# ---- writing -----------------------------------------------------------------------------------------------------------


def number(x):
    if x is None:
        return "-"
    if x >= 999.5e3:
        return f"{x / 1e6:.3g} ms" if x < 999.5e6 else f"{x / 1e9:.3g} s"
    if x >= 9995:
        return f"{x / 1e3:.3g} us"
    return f"{x:.0f}" if x >= 99.5 else f"{x:.1f}" if x >= 9.95 else f"{x:.2f}"


def with_unit(x, unit):
    words = number(x)
    return words if words.endswith("s") else words + unit


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join("---" if i == 0 else "---:" for i in range(len(head))) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def keys_in_words(n):
    n = int(n)
    return f"{n // 1_000_000} M" if n >= 1_000_000 else f"{n // 1000} k"


def counts(results, program):
    return sorted({int(name[-1]) for name in results.names(program, "machine") if name[1] == "load+update"})


class Goals:
    """One row for each number to reach: what was asked, what was measured, the machine's own limit, and the verdict."""

    HEAD = ("path", "goal", "measured", "machine or rival", "measured / beside", "verdict")

    def __init__(self):
        self.rows = []

    def at_most(self, path, goal, measured, beside, limit, unit=" ns"):
        if measured is None or beside is None or limit is None:
            self.rows.append((path, goal, "-", "-", "-", "not measured"))
            return
        verdict = "reached" if measured <= limit else f"missed by {100 * (measured / limit - 1):.0f} %"
        ratio = f"{measured / beside:.2f}" if beside else "-"
        self.rows.append((path, goal, with_unit(measured, unit), with_unit(beside, unit), ratio, verdict))

    def at_least(self, path, goal, measured, beside, factor, unit=" ns"):
        """measured * factor must not exceed beside: `factor` times as fast."""
        if measured is None or beside is None:
            self.rows.append((path, goal, "-", "-", "-", "not measured"))
            return
        times = beside / measured
        verdict = "reached" if times >= factor else f"missed: {times:.1f} times"
        self.rows.append((path, goal, with_unit(measured, unit), with_unit(beside, unit), f"1 / {times:.1f}", verdict))


def goals(r):
    g = Goals()
    plus = lambda a, b: None if a is None else a + b
    times = lambda a, b: None if a is None else a * b

    cas, load = r.ns("unkeyed", "machine/word/cas"), r.ns("unkeyed", "machine/word/load")
    g.at_most("`allow_at`, unkeyed, admitted", "1.5 × one CAS", r.ns("unkeyed", "unkeyed/admitted/given/penstock"), cas, times(cas, 1.5))
    g.at_most("`allow_at`, unkeyed, refused", "one load + 2 ns", r.ns("unkeyed", "unkeyed/refused/given/penstock"), load, plus(load, 2))
    for clock in ("steady_clock", "tsc_clock"):
        read = r.ns("unkeyed", "machine", clock)
        g.at_most(f"`allow`, unkeyed, {clock}", "clock read + 7 ns", r.ns("unkeyed", "unkeyed/admitted", clock, "penstock"), read, plus(read, 7))

    for keys, factor in ((100_000, 2), (1_000_000, 3), (10_000_000, 4)):
        limit = r.ns("keyed", "machine/load+update", keys)
        ours = r.ns("keyed", "integer/uniform/admitted/given/penstock", keys)
        g.at_most(f"`allow_at`, integer keys, {keys_in_words(keys)}", f"{factor} × load + update", ours, limit, times(limit, factor))
    for keys in (100_000, 1_000_000, 10_000_000):
        limit = r.ns("keyed", "machine/load+update", keys)
        ours = r.ns("keyed", "integer/uniform/admitted/given/penstock, batches of 32", keys)
        g.at_most(f"the same in batches of 32, {keys_in_words(keys)}", "2 × load + update", ours, limit, times(limit, 2))

    for program, kind in (("keyed", "integer"), ("texts", "text")):
        for clock in ("given", "tsc_clock", "steady_clock"):
            ours, rival = (r.ns(program, kind, "uniform/admitted", clock, who, 1_000_000) for who in ("penstock", RIVALS[0]))
            g.at_least(f"{kind} keys, 1 M, one thread, {clock} time", f"10 × {RIVALS[0]}", ours, rival, 10)
        ours, rival = (r.ns("threads", "threads/2/different keys", kind, "admitted", who) for who in ("penstock", RIVALS[0]))
        g.at_least(f"{kind} keys, 1 M, two threads", f"25 × {RIVALS[0]}", ours, rival, 25)

    hash_alone, key_alone = r.ns("texts", "machine/siphash/text"), r.ns("texts", "machine/key/text")
    sip = None if hash_alone is None or key_alone is None else hash_alone - key_alone
    for keys in (1_000, 100_000, 1_000_000, 10_000_000):
        integer = r.ns("keyed", "integer/uniform/admitted/given/penstock", keys)
        text = r.ns("texts", "text/uniform/admitted/given/penstock", keys)
        more = None if integer is None or text is None else max(0, text - integer)
        g.at_most(f"16-byte text keys, {keys_in_words(keys)}: more than integers", "SipHash-1-3 + 3 ns", more, sip, plus(sip, 3))

    for program, kind in (("keyed", "integer"), ("texts", "text")):
        small, large = (r.ns(program, kind, "uniform/admitted/given/penstock", keys) for keys in (1_000_000, 10_000_000))
        g.at_most(f"10 M {kind} keys beside 1 M", "1.8 × the time", large, small, times(small, 1.8))

    most = max((int(n[-1]) for n in r.names("latency", "alone")), default=10_000_000)
    memory = r.ns("latency", "alone/-/machine, one load", most)  # fenced likewise
    g.at_most(f"a call alone, {keys_in_words(most)} text keys", "dependent load + 30 ns", r.ns("latency", "alone/text/penstock", most), memory, plus(memory, 30))

    one, two = (r.ns("threads", "threads", n, "different keys/integer/admitted/penstock") for n in (1, 2))
    g.at_least("two threads, different keys", "1.8 × the throughput of one", two, one, 1.8)
    for path, name in (("one hot key", "one hot key/integer/refused/penstock"), ("unkeyed", "unkeyed/-/refused/penstock")):
        one, two = (r.ns("threads", "threads", n, name) for n in (1, 2))
        g.at_least(f"two threads refused, {path}", "each no slower than one", two, one, 1.9)

    for what in ("new keys", "held keys"):
        flood = r.get("latency", "flood", what, "integer/penstock", most) or {}
        p50, p9999 = flood.get("p50"), flood.get("p99.99")
        g.at_most(f"p99.99 of {what} in a flood, {keys_in_words(most)}", "20 × the median", p9999, p50, times(p50, 20))

    leased, cell = (r.ns("threads", "threads/2/unkeyed/-/admitted", who) for who in ("penstock, leased_cell", "penstock"))
    g.at_least("one hot limit, `leased_cell`, two threads", "15 × the plain cell", leased, cell, 15)

    for kind in ("integer", "text"):
        for name, limit in (("token_bucket", 28), ("sliding_counter", 60)):
            sizes = [n for n in r.names("memory", "memory") if n[1] == kind and n[2] == f"penstock, {name}"]
            found = r.get("memory", *sizes[-1]) if sizes else {}
            measured = found.get("bytes a key")
            # A page of four kilobytes is the least that a process can be seen to take.
            g.at_most(f"memory, {kind} keys, {name}", f"{limit} B a key, full", measured and round(measured, 1), limit, limit, " B")

    for compiler, seconds in r.compile_time.items():
        bare, umbrella = 1e9 * seconds["standard headers"], 1e9 * seconds["umbrella"]
        g.at_most(f"compile time, {compiler}", "1.5 × the standard headers", umbrella, bare, 1.5 * bare, "")
    return g


def keyed_table(r, program, kind):
    sizes = counts(r, program)
    rows = []
    for who in ("load", "load+update", "load+80 instructions+update", "dependent_load"):
        rows.append((f"*machine: {who.replace('_', ' ').replace('+', ' + ')}*", *(number(r.ns(program, "machine", who, n)) for n in sizes)))
    found = dict.fromkeys("/".join(name[:-1]) for name in r.names(program, kind))
    for name in found:
        _, distribution, level, clock, who = name.split("/")
        label = f"{who}: {distribution}, {level}, time {clock}" if clock == "given" else f"{who}: {distribution}, {level}, {clock}"
        rows.append((label, *(number(r.ns(program, name, n)) for n in sizes)))
    return table(("ns a call", *(keys_in_words(n) + " keys" for n in sizes)), rows)


def simple_table(r, program, first, head, skip=1):
    rows = [(", ".join(p for p in name[skip:] if p != "-"), number(r.ns(program, *name))) for name in r.names(program, first)]
    return table((head, "ns a call"), rows)


def threads_table(r):
    numbers = sorted({int(name[1]) for name in r.names("threads", "threads")})
    rows = []
    for name in dict.fromkeys("/".join(name[2:]) for name in r.names("threads", "threads")):
        what, kind, level, who = name.split("/")
        times = [r.ns("threads", "threads", n, name) for n in numbers]
        label = f"{who}: {what}{'' if kind == '-' else f' ({kind})'}, {level}"
        rows.append((label, *(number(1e3 / t) if t else "-" for t in times)))
    return table(("million calls a second, all threads together", *(f"{n} thread{'s' if n > 1 else ''}" for n in numbers)), rows)


def flood_table(r):
    rows = []
    for name in r.names("latency", "flood"):
        run = r.get("latency", *name)
        rows.append((f"{name[3]}: {name[1]}", *(number(run.get(p)) for p in ("p50", "p99", "p99.99", "worst"))))
    return table(("single calls, ns", "p50", "p99", "p99.99", "worst"), rows)


def memory_table(r):
    rows = []
    for name in r.names("memory", "memory"):
        run = r.get("memory", *name)
        rows.append((f"{name[2]}: {name[1]} keys", f"{run['bytes a key']:.1f}", f"{run['allocations a call']:.2g}", f"{100 * run['held']:.2f} %"))
    return table(("full", "bytes a key", "allocations a call", "keys held"), rows)


def compile_table(r):
    kinds = list(next(iter(r.compile_time.values()))) if r.compile_time else []
    return table(("seconds of processor time", *kinds), [(c, *(f"{s[k]:.2f}" for k in kinds)) for c, s in r.compile_time.items()])


def tables(r):
    parts = ["### Numbers to reach\n", table(Goals.HEAD, goals(r).rows)]
    add = lambda title, text: parts.extend([f"### {title}\n", text])
    add("The machine and a limiter without a key, one thread", simple_table(r, "unkeyed", "machine", "machine", 0) + "\n" + simple_table(r, "unkeyed", "unkeyed", "unkeyed"))
    add("The six algorithms, one thread, time given (keyed: 100 k keys)", simple_table(r, "algorithms", "algorithm", "algorithm"))
    add("Integer keys, one thread", keyed_table(r, "keyed", "integer"))
    add("Text keys of 16 bytes, one thread", keyed_table(r, "texts", "text"))
    add("Threads, time given, 1 M keys", threads_table(r))
    add("A call alone: a fence after each", simple_table(r, "latency", "alone", "alone"))
    add("Floods of new keys", flood_table(r))
    add("Memory", memory_table(r))
    add("Compile time", compile_table(r))
    return "\n".join(parts)


def machine_words(r):
    m = r.machine
    return "\n".join(f"- {name}: {value}" for name, value in m.items()) + "\n" if m else ""


def main():
    folder = pathlib.Path(sys.argv[1])
    r = Results(folder)
    text = machine_words(r) + "\n" + tables(r)
    (folder / "report.md").write_text("# Benchmarks\n\nMedians; times in nanoseconds unless another unit stands beside them.\n\n" + text)
    merged = {"machine": r.machine, "results": [{"program": p, "name": n, **m} for (p, n), m in r.medians.items()], "compile_time": r.compile_time}
    (folder / "report.json").write_text(json.dumps(merged, indent=1))
    if len(sys.argv) == 4 and sys.argv[2] == "--docs":
        page = pathlib.Path(sys.argv[3])
        before, rest = page.read_text().split(BEGIN)
        page.write_text(before + BEGIN + "\n\n" + text + "\n" + END + rest.split(END)[1])
    missed = [row for row in goals(r).rows if not row[5].startswith("reached")]
    print(f"{len(goals(r).rows) - len(missed)} goals reached, {len(missed)} not")


if __name__ == "__main__":
    main()
