"""Puts small mutations into the pure targets, all in one build behind a number that a process is started with, and runs
the tests that reach each:  mutants.py [COUNT]

COUNT is how many of the usual ones to try, others with every commit; all without it, and then the status is 1 if one
survives without an entry in `explained`. A few say little of the suite, so they fail only if hardly any is noticed.
"""
import concurrent.futures
import dataclasses
import hashlib
import json
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "Lab/mutants"
BUILD = ROOT / ".build-mutants"
PACKAGE = BUILD / "package"
TARGETS = ["Basics", "JSONBytes", "Transport", "Realtime", "PusherProtocol", "MatrixProtocol", "PydioProtocol"]
FOLDERS = {path.name: path.relative_to(ROOT) for path in ROOT.glob("Sources/*/*")}
# What is built with them as it is: as much as needs no network and no other package.
UNCHANGED = [
    "Fixtures", "Sources/Core/C/*", "Sources/Matrix/MatrixEncryption", *(f"Tests/*/{target}Tests" for target in TARGETS),
    *(f"Tests/Core/TestSupport/{name}.swift"
      for name in ["CPUTime", "ChildProcess", "Eventually", "Fixtures", "Growth", "HostileText", "Instants",
                   "LetOthersRun", "Namespace", "RandomJSON", "Regression", "XorShift"]),
    *(f"Sources/Matrix/MatrixSDK/Store/{name}.swift"
      for name in ["MXMemoryStore", "MemoryTimeline", "StoreErrors", "StoredRelation"]),
    "Tests/Lab/FuzzTests/[CDF]*.swift",
    *(f"Tests/Lab/FuzzTests/Targets/{name}Target*.swift"
      for name in ["CryptoMachine", "Decoder", "Encryption", "Frames", "Handshake", "JSON", "Matrix", "Pydio", "WebSocket"]),
    *(f"Tests/Matrix/MatrixSDKTests/{name}.swift" for name in ["SessionModel*", "TokenMachineTests"]),
    "Tests/Matrix/MatrixSessionTestSupport/Sync.swift", "Tests/Pusher/PusherProtocolTestSupport/ClientScript.swift",
]  # fmt: skip
USUAL = 700  # mutants, the same number in each target
AT_A_TIME = 2
# The same order in every run; a crash is a crash, without a report of its stack.
SAME_EVERY_TIME = {"SWIFT_DETERMINISTIC_HASHING": "1", "SWIFT_BACKTRACE": "enable=no"}


@dataclasses.dataclass
class Mutant:
    file: str
    line: int
    start: int
    end: int
    scope: str
    kind: str
    before: str
    after: str
    prefix: str
    suffix: str
    nth: int = 0  # among those of the same text in the same scope
    number: int = 0

    @property
    def target(self):
        return self.file.split("/")[2]

    @property
    def text(self):
        """What it is known by; stays the same when lines move."""
        return f"{self.file} {self.scope}: `{self.before}` → " + (
            self.after if self.after == "left out" else f"`{self.after}`"
        )

    @property
    def place(self):
        return hashlib.sha256(f"{self.text} {self.kind} {self.nth}".encode()).hexdigest()


def say(*words):
    print(*words, flush=True)


def run(*command, **options):
    return subprocess.run(command, cwd=ROOT, text=True, **options)


# Where mutations can be put


def all_mutants():
    """Found with the parser that comes with the compiler."""
    info = json.loads(run("swiftc", "-print-target-info", capture_output=True, check=True).stdout)
    libraries = f"{info['paths']['runtimeResourcePath']}/host"
    finder = BUILD / "points"
    source = HERE / "Points.swift"
    if not finder.exists() or finder.stat().st_mtime < source.stat().st_mtime:
        run(
            "swiftc", "-parse-as-library", "-I", libraries, "-L", libraries, "-lSwiftSyntax", "-lSwiftParser",
            "-lSwiftOperators", "-Xlinker", "-rpath", "-Xlinker", libraries, "-module-cache-path",
            str(BUILD / "modules"), str(source), "-o", str(finder), check=True,
        )  # fmt: skip
    files = sorted(str(f.relative_to(ROOT)) for t in TARGETS for f in (ROOT / FOLDERS[t]).rglob("*.swift"))
    found = run(str(finder), *files, capture_output=True, check=True).stdout
    mutants = [Mutant(**json.loads(line)) for line in found.splitlines()]
    seen = {}
    for mutant in mutants:
        key = (mutant.text, mutant.kind)
        mutant.nth = seen.get(key, 0)
        seen[key] = mutant.nth + 1
    return mutants


def usual(mutants, count, dropped):
    """As many in each target, spread over its files; the same ones as long as their text is the same."""
    chosen = []
    for target in TARGETS:
        files = {}
        for mutant in mutants:
            if mutant.target == target and mutant.place not in dropped:
                files.setdefault(mutant.file, []).append(mutant)
        total = sum(map(len, files.values()))
        share = min(count // len(TARGETS), total)
        ranked = []
        for own in files.values():
            own.sort(key=lambda mutant: mutant.place)
            # The nth of a file comes when that part of all has been taken.
            ranked += [((index + 0.5) / len(own), mutant.place, mutant) for index, mutant in enumerate(own)]
        ranked.sort(key=lambda entry: entry[:2])
        chosen += [mutant for _, _, mutant in ranked[:share]]
    return chosen


# The mutated package


def write(path, content):
    """Only what has changed, so that as little as possible is built."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.resolve().is_relative_to(BUILD):
        sys.exit(f"{path} is not a file of {BUILD}: nothing outside is ever mutated")
    if not path.exists() or path.read_bytes() != content:
        path.write_bytes(content)


def mutated(source, mutants):
    """The source with all of them, and where in it each of them is."""
    out = bytearray(b"public import CMutants; ")
    places = []
    position = 0
    open_ones = []

    def copy(end):
        nonlocal position
        out.extend(source[position:end])
        position = end

    def close(until):
        while open_ones and open_ones[-1][0].end <= until:
            mutant, start = open_ones.pop()
            copy(mutant.end)
            out.extend(mutant.suffix.encode())
            places.append((start, len(out), mutant))

    # A statement goes around whatever else is put around the same text.
    for mutant in sorted(mutants, key=lambda m: (m.start, -m.end, m.kind != "statement left out")):
        close(mutant.start)
        copy(mutant.start)
        open_ones.append((mutant, len(out)))
        out.extend(mutant.prefix.replace("#", str(mutant.number)).encode())
    close(len(source))
    copy(len(source))
    return bytes(out), places


def link(path, to):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() and path.readlink() != to:
        path.unlink()  # the folder was copied from elsewhere
    if not path.is_symlink():
        path.symlink_to(to)


def write_package(mutants):
    for number, mutant in enumerate(mutants, 1):
        mutant.number = number
    for file in (HERE / "package").rglob("*"):
        if file.is_file():
            write(PACKAGE / file.relative_to(HERE / "package"), file.read_bytes())
    for pattern in UNCHANGED:
        for path in ROOT.glob(pattern):
            link(PACKAGE / path.relative_to(ROOT), path)
    places = {}
    for target in TARGETS:
        folder = FOLDERS[target]
        if (PACKAGE / folder).is_symlink():
            (PACKAGE / folder).unlink()  # it was not mutated the last time
        sources = {f.relative_to(ROOT) for f in (ROOT / folder).rglob("*.swift")}
        for file in (PACKAGE / folder).rglob("*.swift"):
            if file.relative_to(PACKAGE) not in sources:
                file.unlink()
        for file in sources:
            own = [mutant for mutant in mutants if mutant.file == str(file)]
            content, places[PACKAGE / file] = mutated((ROOT / file).read_bytes(), own)
            write(PACKAGE / file, content)
    return places


def build(places):
    """What does not compile; nothing if all does."""
    result = run(
        "swift", "build", "--build-tests", "--package-path", str(PACKAGE), "--scratch-path", str(BUILD / "build"),
        capture_output=True,
    )  # fmt: skip
    if result.returncode == 0:
        return []
    guilty = {}
    for path, line, column in set(re.findall(r"^(/\S+\.swift):(\d+):(\d+): error:", result.stdout, re.MULTILINE)):
        own = places.get(pathlib.Path(path), [])
        lines = pathlib.Path(path).read_bytes().split(b"\n")
        start_of_line = sum(len(text) + 1 for text in lines[: int(line) - 1])
        at = start_of_line + int(column) - 1
        around = [place for place in own if place[0] <= at < place[1]]
        end_of_line = start_of_line + len(lines[int(line) - 1])
        near = [place for place in own if place[0] < end_of_line and place[1] > start_of_line]
        if around:
            around = [min(around, key=lambda place: place[1] - place[0])]
        if not around and not near:
            near = ending_at(int(line) - 1, lines, own)
        for _, _, mutant in around or near:
            guilty[mutant.number] = mutant
    if not guilty:
        sys.exit(f"The mutated package does not build:\n{result.stdout[-8000:]}{result.stderr[-2000:]}")
    (BUILD / "errors").write_text(result.stdout)
    return list(guilty.values())


def ending_at(line, lines, places):
    """The statements left out of the braces that end in a line: where nothing is returned, or left to be set."""
    indent = len(lines[line]) - len(lines[line].lstrip())
    first = line
    while first > 0:
        first -= 1
        if lines[first].strip() and len(lines[first]) - len(lines[first].lstrip()) <= indent:
            break
    start, end = (sum(len(text) + 1 for text in lines[:number]) for number in (first, line))
    inside = [place for place in places if start <= place[0] < end]
    return [place for place in inside if place[2].kind == "statement left out"] or inside


def choose(everything, count):
    """What is tried, built, without what does not compile."""
    file = BUILD / "dropped"
    dropped = set(file.read_text().split()) if file.exists() else set()
    while True:
        chosen = usual(everything, max(USUAL, count or 0), dropped)
        if count and count < len(chosen):
            seed = int(run("git", "rev-list", "--count", "HEAD", capture_output=True).stdout or 0)
            chosen = random.Random(seed).sample(chosen, count)
        refused = build(write_package(chosen))
        if not refused:
            return chosen
        for mutant in refused:
            say(f"does not compile: {mutant.file}:{mutant.line}: {mutant.text}")
        dropped |= {mutant.place for mutant in refused}
        file.write_text("\n".join(sorted(dropped)))


# Running


@dataclasses.dataclass
class Outcome:
    """Of one run of tests; `failure` is empty if all passed."""

    failure: str
    seconds: float


def run_tests(suites, bound=600, **environment):
    """Runs the tests of some suites (all if there are none) until one fails."""
    program = next((BUILD / "build/debug").glob("*.xctest"))
    command = [str(program), "--testing-library", "swift-testing", "--quiet"]
    for suite in suites:
        command += ["--filter", f"^{re.escape(suite)}(/|$)"]
    start = time.monotonic()
    process = subprocess.Popen(
        command, cwd=PACKAGE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, text=True,
        errors="replace", env=os.environ | SAME_EVERY_TIME | environment,
        # A mutant may want endless memory.
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, 4 << 30)),
    )  # fmt: skip
    failure = ""

    def end(why):
        nonlocal failure
        failure = failure or why
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    timer = threading.Timer(bound, end, ["it takes for ever"])
    timer.start()
    for line in process.stdout:
        if failed := re.search(r"✘\S* (?:Test|Suite) (?!run )(.*?) recorded an issue", line):
            end(failed.group(1))
    process.wait()
    timer.cancel()
    if process.returncode != 0 and not failure:
        failure = f"it ends with status {process.returncode}"
    return Outcome(failure, time.monotonic() - start)


def all_suites():
    program = next((BUILD / "build/debug").glob("*.xctest"))
    listed = run(
        str(program), "--testing-library", "swift-testing", "--list-tests", capture_output=True, check=True
    ).stdout  # fmt: skip
    return sorted({line.split("/")[0] for line in listed.splitlines() if line.strip()})


def reach(suites):
    """Which suites come to which mutant's place, and how long each takes."""
    reached, seconds = {}, {}

    def look(suite):
        notes = BUILD / f"reached-{suite}"
        notes.unlink(missing_ok=True)
        outcome = run_tests([suite], MUTANTS_REACHED=str(notes))
        if outcome.failure:
            sys.exit(f"{suite} fails without any mutation: {outcome.failure}")
        for number in notes.read_text().split():
            reached.setdefault(int(number), []).append(suite)
        notes.unlink()
        seconds[suite] = outcome.seconds

    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        for _ in pool.map(look, suites):
            pass
    return reached, seconds


# Survivors that are right to survive


def explained():
    """Entries of `explained`: the text of a mutant, and below it, indented, why no test can tell."""
    entries, text = {}, None
    for line in (HERE / "explained").read_text().splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if not line[0].isspace():
            text = line
            entries[text] = ""
        else:
            entries[text] = f"{entries[text]} {line.strip()}".strip()
    for text, reason in entries.items():
        if not reason:
            sys.exit(f"explained: no reason is given for {text}")
    return entries


# The report


def table(mutants, results, excused):
    say(f"{'target':16}{'mutants':>8}{'killed':>8}{'explained':>11}{'survived':>10}{'killed':>9}")
    for target in TARGETS + ["all"]:
        own = [m for m in mutants if target in ("all", m.target)]
        alive = [m for m in own if not results[m.place]["killed by"]]
        known = sum(m.text in excused for m in alive)
        if own:
            dead = len(own) - len(alive)
            say(f"{target:16}{len(own):8}{dead:8}{known:11}{len(alive) - known:10}{100 * dead / len(own):8.1f}%")


def main():
    started = time.monotonic()

    def stamp(what):
        say(f"[{time.monotonic() - started:4.0f} s] {what}")

    BUILD.mkdir(exist_ok=True)
    arguments = sys.argv[1:]
    count = int(arguments[0]) if arguments and arguments[0].isdigit() else None
    everything = all_mutants()
    stamp(f"{len(everything)} places for a mutation")
    excused = explained()
    known = {mutant.text for mutant in everything}
    stale = [text for text in excused if text not in known]

    chosen = choose(everything, count)
    stamp(f"{len(chosen)} mutants are built")
    suites = all_suites()
    whole = run_tests([])
    if whole.failure:
        sys.exit(f"The tests fail without any mutation: {whole.failure}")
    reached, seconds = reach(suites)
    stamp(f"{len(suites)} suites pass without a mutation, all at once in {whole.seconds:.0f} s")

    results_file = BUILD / "results.json"
    results = json.loads(results_file.read_text()) if results_file.exists() else {}
    tried = chosen
    if "again" in arguments:
        tried = [mutant for mutant in chosen if not results.get(mutant.place, {}).get("killed by")]

    def attempt(mutant):
        """The slow suites have their turn if no other notices."""
        outcome = Outcome("", 0)
        slow = whole.seconds / 10
        for suites in ([s for s in reached.get(mutant.number, []) if (seconds[s] > slow) == last] for last in (0, 1)):
            if suites and not outcome.failure:
                bound = 20 + 5 * min(whole.seconds, sum(seconds[suite] for suite in suites))
                outcome = run_tests(suites, bound=bound, MUTANT=str(mutant.number))
        return outcome

    survivors = 0
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        attempts = {pool.submit(attempt, mutant): mutant for mutant in tried}
        for done in concurrent.futures.as_completed(attempts):
            mutant, outcome = attempts[done], done.result()
            results[mutant.place] = {
                "mutant": mutant.text, "killed by": outcome.failure, "seconds": round(outcome.seconds, 1),
            }  # fmt: skip
            results_file.write_text(json.dumps(results, indent=1, ensure_ascii=False))
            if outcome.failure:
                continue
            say(f"survived: {mutant.file}:{mutant.line}: {mutant.kind}\n    {mutant.text}")
            if not reached.get(mutant.number):
                say("    no test comes there")
            if mutant.text in excused:
                say(f"    explained: {excused[mutant.text]}")
            else:
                survivors += 1
    stamp("all have been run")
    table(chosen, results, excused)
    for text in stale:
        say(f"explained, but no longer there: {text}")
    if count and survivors <= len(chosen) / 2:
        return
    if survivors or stale:
        sys.exit(1)


main()
