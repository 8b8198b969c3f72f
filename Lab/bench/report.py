"""The table and the JSON file."""

import json
import operator
import statistics
from dataclasses import dataclass
from typing import Optional

HOLDS = {"<=": operator.le, ">=": operator.ge}


@dataclass
class Aim:
    """What a figure, or its ratio to the one beside it, is to be."""

    sign: str
    limit: float
    of_ratio: bool = True

    def __str__(self):
        return f"{self.sign} {self.limit:,.10g}" + (" x" if self.of_ratio else "")


@dataclass
class Line:
    """A figure, one value for each round.

    `ratios` compares it with `beside`, a floor or a peer of the same rounds, so that 2 is twice the cost."""

    key: str
    name: str
    values: list
    unit: str = ""
    ratios: Optional[list] = None
    beside: str = ""
    aims: tuple = ()

    def median(self):
        return statistics.median(self.values)

    def ratio(self):
        return statistics.median(self.ratios) if self.ratios else None

    def verdicts(self):
        """Each aim with whether it is met."""
        return [(aim, HOLDS[aim.sign](self.ratio() if aim.of_ratio else self.median(), aim.limit)) for aim in self.aims]


def cost_ratios(values, floor):
    """Of two lists of costs."""
    return [value / other for value, other in zip(values, floor)]


def rate_ratios(values, floor):
    """Of two lists of rates: how many times as much it costs."""
    return cost_ratios(floor, values)


def number(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.3g}"


class Report:
    """Prints lines as they come, and keeps them for the file."""

    def __init__(self):
        self.lines = []

    def section(self, title):
        print(f"\n{title:58}{'median':>13}{'min':>13}{'max':>13}  {'unit':14}{'ratio':>7}  beside, aim", flush=True)

    def note(self, text):
        print(text, flush=True)

    def add(self, line):
        self.lines.append(line)
        ratio = f"{line.ratio():.2f}x" if line.ratios else ""
        verdicts = [f"{aim}: {'ok' if is_met else 'FALLS SHORT'}" for aim, is_met in line.verdicts()]
        print(f"{line.name:58}{number(line.median()):>13}{number(min(line.values)):>13}{number(max(line.values)):>13}"
              f"  {line.unit:14}{ratio:>7}  " + ", ".join(filter(None, [line.beside, *verdicts])), flush=True)

    def write(self, path):
        figures = {}
        for line in self.lines:
            figures[line.key] = line.median()
            figures[line.key + "_min"] = min(line.values)
            figures[line.key + "_max"] = max(line.values)
            if line.ratios:
                figures[line.key + "_ratio"] = line.ratio()
            if line.aims:
                figures[line.key + "_meets_aim"] = all(is_met for _, is_met in line.verdicts())
        rounded = {key: value if isinstance(value, bool) else float(f"{value:.6g}") for key, value in figures.items()}
        path.write_text(json.dumps(rounded, indent=2) + "\n")

    def summarise(self):
        aims = [is_met for line in self.lines for _, is_met in line.verdicts()]
        print(f"\n{sum(aims)} of {len(aims)} aims are met")
