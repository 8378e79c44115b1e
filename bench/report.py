"""The tables in Markdown, and their picture."""

import platform
import shutil
import statistics
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from candidates import Table
from measure import Candidate, Sample, start_cost

HEIGHT = 0.3  # inches of a row in the picture
MARKS = (0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4)  # of its axis


@dataclass(frozen=True)
class Result:
    """The samples of each candidate, round by round: the stub, its A/A partner, the others."""

    table: Table
    samples: dict[Candidate, list[Sample]]

    def ratios(self, candidate: Candidate) -> list[float]:
        """The candidate's cost divided by the first one's, for each round."""
        first = next(iter(self.samples.values()))
        pairs = zip(self.samples[candidate], first, strict=True)
        return [other.cost / ours.cost for other, ours in pairs]

    @property
    def others(self) -> list[Candidate]:
        """All measured candidates but the A/A pair."""
        return [each for each in list(self.samples)[2:] if self.samples[each]]

    @property
    def spread(self) -> float:
        """The A/A range is 1 / spread to spread."""
        pair = list(self.samples)[1]
        return max(max(ratio, 1 / ratio) for ratio in self.ratios(pair))


def markdown(results: Sequence[Result], how: str) -> str:
    lines = ["# Results", "", f"Measured on {date.today()} by `{how}`"]
    lines += [f"with {versions()}. [README.md](README.md) explains the columns."]
    for result in results:
        lines += ["", *table_lines(result)]
    return "\n".join(lines) + "\n"


def table_lines(result: Result) -> Iterator[str]:
    is_start = result.table.measure is start_cost
    unit = "ms" if is_start else "processor time per request, µs"
    yield f"## {result.table.title}"
    yield ""
    yield f"| | {unit} | {'' if is_start else 'requests per second '}| ratio | range | goal |"
    yield "|---|---|---|---|---|---|"
    for number, (candidate, samples) in enumerate(result.samples.items()):
        if not samples:
            yield f"| {candidate.name} | not measured | | | | |"
            continue
        cost = statistics.median(sample.cost for sample in samples) * (1e3 if is_start else 1e6)
        rates = [sample.rate for sample in samples if sample.rate is not None]
        rate = f"{statistics.median(rates):,.0f}" if rates else ""
        compared = ratio_cells(result, candidate, number)
        yield f"| {candidate.name} | {cost:,.0f} | {rate} | {compared} |"


def ratio_cells(result: Result, candidate: Candidate, number: int) -> str:
    """The ratio, its range over the rounds, and the goal."""
    if number == 0:
        return "1 | | "
    ratios, spread = result.ratios(candidate), result.spread
    ratio = statistics.median(ratios)
    if number == 1:
        return f"{ratio:.2f} | A/A {1 / spread:.2f} to {spread:.2f} | "
    is_level = 1 / spread <= ratio <= spread
    shown = f"{ratio:.2f}{', level' if is_level else ''} | {min(ratios):.2f} to {max(ratios):.2f}"
    return f"{shown} | {verdict(ratio, spread, candidate)}"


def verdict(ratio: float, spread: float, candidate: Candidate) -> str:
    """Whether a goal is met; "level" where the A/A range is too wide to tell."""
    if candidate.at_least is not None:
        text, distance = f"at least {candidate.at_least:.2f}", ratio / candidate.at_least
    elif candidate.at_most is not None:
        text, distance = f"at most {candidate.at_most:.2f}", candidate.at_most / ratio
    else:
        return ""
    if 1 / spread < distance < spread:
        return f"{text}: level"
    return f"{text}: {'met' if distance > 1 else 'missed'}"


def versions() -> str:
    """The versions of what was measured, and of what measured it."""
    tools = [f"Python {platform.python_version()}"]
    tools += [f"{name} {version(name)}" for name in ("flask", "waitress")]
    commands = [["wrk", "-v"], ["node", "--version"]]
    for command in commands:
        if shutil.which(command[0]):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            tools.append(f"{command[0]} {done.stdout.split(' [')[0].split()[-1]}")
    return ", ".join(tools)


def draw(results: Sequence[Result], file: Path) -> None:
    """A panel per table: a dot per round, a bar at the median, and the A/A range in grey."""
    from matplotlib import rcParams
    from matplotlib.figure import Figure

    # The same results give the same file.
    rcParams.update({"svg.hashsalt": "bench", "svg.fonttype": "none"})
    rows = [len(result.others) for result in results]
    size = (8, HEIGHT * sum(count + 2 for count in rows))
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(results), sharex=True, squeeze=False, height_ratios=rows)[:, 0]
    for panel, result in zip(panels, results, strict=True):
        draw_table(panel, result)
    panels[-1].set_xscale("log")
    panels[-1].set_xticks(MARKS, [f"{mark:g}" for mark in MARKS])
    panels[-1].set_xticks([], minor=True)
    panels[-1].set_xlabel("processor time divided by the first row's: above 1 that row is cheaper")
    figure.savefig(file, metadata={"Date": None})


def draw_table(panel: Any, result: Result) -> None:
    panel.axvspan(1 / result.spread, result.spread, color="0.88")
    panel.axvline(1, color="0.6", linewidth=1)
    for height, candidate in enumerate(result.others):
        ratios = result.ratios(candidate)
        panel.plot(ratios, [height] * len(ratios), ".", color="tab:blue", alpha=0.4)
        panel.plot(statistics.median(ratios), height, "|", color="tab:blue", markersize=14)
    names = [candidate.name.replace("`", "") for candidate in result.others]
    panel.set_yticks(range(len(names)), names)
    panel.set_ylim(len(names) - 0.5, -0.5)
    panel.set_title(result.table.title, loc="left", fontsize="medium")
