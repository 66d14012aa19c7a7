#!/usr/bin/env python3
"""Does gpuemu find the faults that it should, and nothing where there is none?

    tests/quality/run.py [--backend emulator|cuda] [--contraction auto|never|always] [--part faults,twins,correct,undeclared,kernels]
                         [--seeds N] [--fault-seeds N] [--cases N]
                         [--first-seed N] [--jobs N] [--quick] [--report FILE] [OPS...]

The part `undeclared` is the kernels of correct/ once more, without `accumulate` and `error_scale`.

Runs the kernels of faulty/ (24 cases of each, with every seed or the first of them: those that hang
keep a GPU for seconds in each case), their corrected twins, the kernels of correct/ and, when named, those of
tests/kernels, each project with a daemon of its own. Prints what was found of each class of faults; exit code 1 when a fault is missed that is no known gap, when a known gap
is none any more, when a finding names another line than the marked one, when a case run again by its seed gives something else, Python makes
other inputs of it or it does not shrink, or when a correct kernel is flagged. GPUEMU_BIN says where the
programs are, else build/release/bin.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import pathlib
import sys
import tomllib

sys.dont_write_bytecode = True
import suite

OTHER_PAGE = {"emulator": "On a GPU: [quality-cuda.md](quality-cuda.md).", "cuda": "On the emulator: [quality.md](quality.md)."}
PARTS = ("faults", "twins", "correct", "undeclared", "kernels")
QUICK_CASES = 10
QUICK_SHARE = 6  # one class of so many is replayed and shrunk
TRIALS_MAX = 200
SHRUNK_TO = 2  # times the smallest failing size, at most
PARTS_OF_A_JOB = 8  # Kernels that hang take many times as long as others.
LUCKY_RUNS = 5  # fewer say nothing about what is found now and then


@dataclasses.dataclass
class Found:
    """What became of one planted fault over all seeds."""
    fault: suite.Fault
    hits: int = 0
    runs: int = 0
    number: int = 0  # the latest of the first cases that found it
    kinds: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    case: suite.Failure | None = None  # the first that found it
    trials: int = 0  # that it took to shrink a case of it
    problems: list[str] = dataclasses.field(default_factory=list)

    @property
    def always(self):
        return self.hits == self.runs > 0


@dataclasses.dataclass
class Alarms:
    """Findings in correct kernels."""
    kernels: int = 0
    cases: int = 0
    false: list[str] = dataclasses.field(default_factory=list)
    problems: list[str] = dataclasses.field(default_factory=list)

    def limit(self):
        return suite.upper_limit(len(self.false), self.cases)


def judge_run(found, outcome, backend, marked):
    """Adds one run of a faulty op. A GPU sees the same faults by other kinds."""
    fault = found.fault
    if outcome.error or outcome.cases == 0:
        found.problems.append(f"{fault.name} {outcome.dtype} did not run: {outcome.error}")
        return
    found.runs += 1
    hit = outcome.first_of(fault.kinds if backend == "emulator" else [])
    if hit is None or hit.number > fault.cases:
        return
    found.hits += 1
    # A later one has more to shrink.
    found.case = max(found.case or hit, *(f for f in outcome.failures if set(f.kinds) & set(hit.kinds)), key=lambda f: f.number)
    found.number = max(found.number, hit.number)
    found.kinds.update(hit.kinds)
    places = set().union(*(failure.places for failure in outcome.failures))
    if backend == "emulator" and fault.name in marked and not marked[fault.name] & places:
        found.problems.append(f"{fault.name}: found, but at {sorted(places)[:4]}, not at {sorted(marked[fault.name])}")


def judge_lint(found, said):
    found.runs, found.hits = 1, int(any(kind in said for kind in found.fault.kinds))
    found.kinds.update(found.fault.kinds if found.hits else [])


def close(found, backend):
    """The last word about a fault, once all seeds have run."""
    fault = found.fault
    if fault.missed and found.hits and not (fault.luck and (found.runs < LUCKY_RUNS or not found.always)):
        found.problems.append(f"{fault.name} is a known gap that is none any more ({found.hits} of {found.runs} runs, "
                              f"{'/'.join(found.kinds)} at case {found.number}): take `missed` out of expected.toml")
    enough = 2 * found.hits > found.runs if fault.weak and found.runs >= LUCKY_RUNS else found.always or fault.weak
    if not fault.missed and not enough and not (backend == "cuda" and fault.only == "emulator"):
        found.problems.append(f"{fault.name} (class {fault.number}): found in {found.hits} of {found.runs} runs of {fault.cases} cases, "
                              f"expected {'/'.join(fault.kinds)} in each")


def again(installation, found):
    """Runs the found cases again by their seeds, and shrinks those whose smallest size is known."""
    settings = installation.settings_shown()
    for one in found:
        if not one.fault.memory:
            one.problems += filter(None, [installation.replay(one.fault.name, one.case, settings)])
        if one.fault.smallest is None:
            continue
        size, one.trials, kinds = installation.minimize(one.fault.name, one.case.seed)
        if size > SHRUNK_TO * one.fault.smallest or one.trials > TRIALS_MAX or not kinds & set(one.case.kinds):
            one.problems.append(f"{one.fault.name}: case {one.case.seed} was shrunk to sizes whose product is {size} in {one.trials} trials, with {kinds}; "
                                f"expected {SHRUNK_TO * one.fault.smallest} or less in at most {TRIALS_MAX}, with one of {one.case.kinds}")


def in_parts(options, work, things):
    """`work` on parts of `things`, as many at a time as there are jobs: what each gave, in order."""
    if options.jobs == 1:
        return [work(things)]
    size = max(1, len(things) // (PARTS_OF_A_JOB * options.jobs))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        return list(pool.map(work, [things[first:first + size] for first in range(0, len(things), size)]))


def run_faults(options):
    folder = suite.HERE / "faulty"
    faults = [f for f in suite.read_faults(folder) if not (options.quick and f.slow) and (not options.ops or f.name in options.ops)]
    marked = suite.marked_lines(folder)
    parts = in_parts(options, lambda part: run_some_faults(options, folder, part, marked), faults)
    return [one for found, _ in parts for one in found], next((device for _, device in parts if device), "")


def run_some_faults(options, folder, faults, marked):
    found = {fault.name: Found(fault) for fault in faults}
    device = ""
    with suite.Installation(folder, options.backend, contraction=options.contraction) as installation:
        names = [fault.name for fault in faults if not fault.lint]
        for seed in range(options.first_seed, options.first_seed + options.fault_seeds) if names else ():
            outcomes, device = installation.test(names, suite.CASES, seed)
            for outcome in outcomes:
                judge_run(found[outcome.op], outcome, options.backend, marked)
        for fault in faults:
            if fault.lint:
                judge_lint(found[fault.name], installation.lint(fault.name))
        if options.backend == "emulator":
            again(installation, [one for one in found.values() if one.case and not (options.quick and one.fault.number % QUICK_SHARE)])
    for one in found.values():
        close(one, options.backend)
    return list(found.values()), device


def run_correct(options, project, names, flags=(), tree=None, undeclared=False):
    """False alarms of kernels that are right."""
    parts = in_parts(options, lambda part: run_some_correct(options, project, part, flags, tree, undeclared), names)
    return Alarms(sum(a.kernels for a in parts), sum(a.cases for a in parts), [text for a in parts for text in a.false],
                  [text for a in parts for text in a.problems])


def run_some_correct(options, project, names, flags, tree, undeclared):
    alarms = Alarms(kernels=len(names))
    with suite.Installation(project, options.backend, flags, tree, undeclared, options.contraction) as installation:
        for seed in range(options.first_seed, options.first_seed + options.seeds) if names else ():
            for outcome in installation.test(names, options.cases, seed)[0]:
                alarms.cases += outcome.cases
                if outcome.error or outcome.cases == 0:
                    alarms.problems.append(f"{outcome.op} {outcome.dtype} did not run: {outcome.error}")
                alarms.false += [f"{outcome.op} {outcome.dtype}, base seed {seed}, {failure.message}" for failure in outcome.failures]
    return alarms


def run_twins(options):
    names = [f.name for f in suite.read_faults() if f.twin and (not options.ops or f.name in options.ops)]
    return run_correct(options, suite.HERE / "faulty", names, ["-DFIXED"])


def run_project(options, folder, tree=None, undeclared=False):
    names = suite.op_names(tomllib.loads((folder / "gpuemu.toml").read_text()))
    names = [name for name in names if not options.ops or name in options.ops]
    return run_correct(options, folder, names, tree=tree, undeclared=undeclared)


def how_often(one, backend):
    if one.fault.missed:
        return "missed"
    if one.fault.only == "emulator" and backend == "cuda" and not one.hits:
        return "no GPU shows it"
    if one.always:
        return f"case {one.number}" if one.number else "compiled code"
    return f"{one.hits} of {one.runs} runs"


def class_rows(found, backend):
    """Rows of the table: number, name, found / total, kernels, kinds."""
    names = suite.read_classes()
    by_class = collections.defaultdict(list)
    for one in found:
        by_class[one.fault.number].append(one)
    for number, members in sorted(by_class.items()):
        kinds = sum((one.kinds for one in members), collections.Counter())
        kernels = ", ".join(f"`{one.fault.name}` ({how_often(one, backend)})" for one in members)
        yield (number, names.get(number, "?"), f"{sum(one.always for one in members)} / {len(members)}", kernels,
               ", ".join(kind for kind, _ in kinds.most_common(3)))


def markdown(options, found, device, alarms):
    """The page docs/internals/quality.md from one run."""
    fewer = f" --fault-seeds {options.fault_seeds}" if options.fault_seeds != options.seeds else ""
    last = options.first_seed - 1
    lines = ["# What is found, and what is not", "", "Measured by", "",
             f"    tests/quality/run.py --backend {options.backend} --seeds {options.seeds}{fewer} --cases {options.cases} --report FILE", "",
             f"on {device}, base seeds {options.first_seed} to {last + options.seeds}{f' (faulty kernels: to {last + options.fault_seeds})' if fewer else ''}. `tests/quality/README.md` says what the kernels are.",
             f"{OTHER_PAGE[options.backend]}", ""]
    if found:
        always = sum(one.always for one in found)
        lines += ["## Planted faults", "",
                  f"{always} of {len(found)} faulty kernels are found in every run of at most {suite.CASES} cases with the default configuration. In brackets: "
                  "the case that showed it first, in the worst of the runs.", "",
                  "| class | fault | found | kernels | found as |", "| --- | --- | --- | --- | --- |"]
        lines += ["| " + " | ".join(map(str, row)) + " |" for row in class_rows(found, options.backend)]
        gaps = [one.fault for one in found if one.fault.missed]
        weak = [one for one in found if one.fault.weak]
        lines += ["", "## Not in every run", ""] + [f"- `{one.fault.name}` ({one.hits} of {one.runs} runs): {one.fault.weak}." for one in weak]
        lines += ["", "## Known gaps", ""] + ([f"- `{fault.name}` (class {fault.number}): {fault.missed}." for fault in gaps] or ["None."])
        shrunk = [one for one in found if one.trials]
        if shrunk:
            lines += ["", "## Replayed and shrunk", "",
                      "A case of every fault whose answers do not depend on earlier calls was run again by its seed: it had the same findings, and Python made the same bytes "
                      f"of its inputs. `gpuemu minimize` shrank {len(shrunk)} of them, whose smallest failing sizes are known, to at most twice the product of those sizes with at most "
                      f"{max(one.trials for one in shrunk)} trials each."]
    if alarms:
        lines += ["", "## False alarms", "", "| kernels | | cases | false alarms | 95 % limit of the rate per case |", "| --- | --- | --- | --- | --- |"]
        for name, one in alarms.items():
            lines.append(f"| {name} | {one.kernels} | {one.cases} | {len(one.false)} | {100 * one.limit():.3f} % |")
        total = Alarms(sum(a.kernels for a in alarms.values()), sum(a.cases for a in alarms.values()), sum((a.false for a in alarms.values()), []))
        lines.append(f"| together | {total.kernels} | {total.cases} | {len(total.false)} | {100 * total.limit():.3f} % |")
    return "\n".join(lines) + "\n"


def problems_of(found, alarms):
    told = [problem for one in found for problem in one.problems]
    for name, one in alarms.items():
        told += [f"{name}: {problem}" for problem in one.problems]
        told += [f"false alarm in {name}: {alarm}" for alarm in one.false]
    return told


def measure(options):
    found, device = run_faults(options) if "faults" in options.part else ([], options.backend)
    if options.quick:
        options = argparse.Namespace(**{**vars(options), "cases": QUICK_CASES})
    alarms = {}
    if "twins" in options.part:
        alarms["corrected twins of the faulty ones"] = run_twins(options)
    if "correct" in options.part:
        alarms["`tests/quality/correct`"] = run_project(options, suite.HERE / "correct")
    if "undeclared" in options.part:
        alarms["the same without `accumulate` and `error_scale`"] = run_project(options, suite.HERE / "correct", undeclared=True)
    kernels = suite.ROOT / "tests" / "kernels"
    for config in sorted(kernels.glob("**/gpuemu.toml")) if "kernels" in options.part else ():
        alarms[f"`{config.parent.relative_to(suite.ROOT)}`"] = run_project(options, config.parent, kernels)
    return found, device, alarms


def parse(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", choices=["emulator", "cuda"], default="emulator")
    parser.add_argument("--contraction", choices=["auto", "never", "always"], default="auto", help="what becomes of products and sums; always: what a GPU makes of them (auto)")
    parser.add_argument("--part", default="", type=lambda text: text.split(","), help="of faults, twins, correct, undeclared and kernels; without kernels when left out")
    parser.add_argument("--seeds", type=int, default=10, help="base seeds, one run each (10)")
    parser.add_argument("--fault-seeds", type=int, help="the same of the faulty ones (as many)")
    parser.add_argument("--first-seed", type=int, default=1, help="the first of the base seeds (1)")
    parser.add_argument("--cases", type=int, default=64, help="cases of each correct kernel and seed (64)")
    parser.add_argument("--jobs", type=int, default=1, help="daemons at a time, each with a part of the kernels (1)")
    parser.add_argument("--quick", action="store_true", help=f"one seed, {QUICK_CASES} cases of correct kernels, no slow ones")
    parser.add_argument("--report", type=pathlib.Path, help="write the tables there as Markdown")
    parser.add_argument("ops", nargs="*", help="only these")
    options = parser.parse_args(arguments)
    if options.quick:
        options.seeds = options.fault_seeds = 1
    if options.fault_seeds is None:
        options.fault_seeds = options.seeds
    if options.part == [""]:
        options.part = [part for part in PARTS if part != "kernels"]
    if min(options.seeds, options.fault_seeds, options.cases, options.jobs) < 1:
        parser.error("--seeds, --cases and --jobs are at least 1")
    unknown = set(options.part) - set(PARTS)
    if unknown:
        parser.error(f"--part: {', '.join(sorted(unknown))} is none of {', '.join(PARTS)}")
    return options


def main():
    options = parse()
    found, device, alarms = measure(options)
    page = markdown(options, found, device, alarms)
    if options.report:
        options.report.write_text(page)
    print(page)
    problems = problems_of(found, alarms)
    for problem in problems:
        print(f"PROBLEM: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
