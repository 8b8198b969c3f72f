"""The table, a line a scenario."""

import threading

from measure import megabytes

COLUMNS = (("grew by", 9), ("bound", 8), ("CPU s", 8), ("bound", 7), ("back s", 8), ("bound", 7), ("log", 6),
           ("bound", 7))


class Report:
    def __init__(self, names):
        self.width = max(map(len, names), default=8)
        self.lock = threading.Lock()
        self.passed = self.skipped = 0
        self.failures = []
        print("scenario".ljust(self.width) + "".join(name.rjust(width) for name, width in COLUMNS) + "  ok", flush=True)

    def add(self, trial, remark=""):
        meter, bounds = trial.meter, trial.scenario
        figures = [megabytes(meter.grew_by), megabytes(bounds.grows), f"{meter.cpu_seconds:.2f}", f"{bounds.cpu:g}",
                   "–" if trial.back is None else f"{trial.back:.2f}", f"{bounds.back * trial.slowness:.0f}",
                   meter.log_lines, bounds.log] if meter else ["–"] * len(COLUMNS)
        line = bounds.name.ljust(self.width) + "".join(
            str(figure).rjust(width) for figure, (_, width) in zip(figures, COLUMNS))
        with self.lock:
            self.passed += trial.is_fine
            print(line + "  " + ("ok" if trial.is_fine else "NO: " + "; ".join(trial.errors + trial.delays))
                  + (f" ({remark})" if remark else ""), flush=True)
            if not trial.is_fine:
                self.failures.append(f"{bounds.name}: {'; '.join(trial.errors + trial.delays)}")
                for subject in trial.subjects:
                    for log_line in subject.log[-6:]:
                        print("    " + ascii(log_line)[1:300], flush=True)

    def skip(self, scenario, why):
        with self.lock:
            self.skipped += 1
            print(f"{scenario.name.ljust(self.width)}  skipped: {why}", flush=True)

    def end(self, seconds):
        print(f"in {seconds:.0f} s" + (f", {self.skipped} skipped" if self.skipped else ""))
        for failure in self.failures:  # once more: of a long log often only the end is kept
            print(f"failed: {failure}")
        print(f"{self.passed} passed, {len(self.failures)} failed", flush=True)
        return 1 if self.failures or not self.passed else 0
