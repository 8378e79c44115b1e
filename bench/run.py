"""Measures what the stub's requests cost, beside floors and Express. See bench/README.md."""

import random
from importlib.util import find_spec
from pathlib import Path

import click
from candidates import TABLES, Table
from measure import BENCH, prepare, request_cost
from report import Result, draw, markdown, table_lines


def measure(table: Table, rounds: int, seconds: int) -> Result:
    """All candidates in each round, in a random order, each in a fresh process."""
    result = Result(table, {candidate: [] for candidate in table.with_pair()})
    installed = [candidate for candidate in result.samples if candidate.is_installed]
    for _ in range(rounds):
        for candidate in random.sample(installed, len(installed)):
            result.samples[candidate].append(table.measure(candidate, seconds))
    return result


@click.command()
@click.option("--rounds", type=click.IntRange(1), default=9, show_default=True)
@click.option("--seconds", type=click.IntRange(1), default=2, show_default=True, help="Of a load.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=BENCH,
    help="Folder for results.md and results.svg; bench/ by default.",
)
@click.argument("tables", nargs=-1, type=click.Choice(list(TABLES)), metavar="[TABLE]...")
def main(rounds: int, seconds: int, output: Path, tables: tuple[str, ...]) -> None:
    """Measure each TABLE, all by default, and write results.md and results.svg."""
    prepare()
    results = []
    for name in tables or TABLES:
        results.append(measure(TABLES[name], rounds, seconds))
        click.echo("\n".join(table_lines(results[-1])) + "\n")
    how = " ".join(["bench/run.py", f"--rounds {rounds} --seconds {seconds}", *tables])
    (output / "results.md").write_text(markdown(results, how), "utf-8")
    drawn = [result for result in results if result.table.measure is request_cost]
    if not find_spec("matplotlib"):
        click.echo("no picture: pip install -r bench/requirements.txt", err=True)
    elif drawn:
        draw(drawn, output / "results.svg")


if __name__ == "__main__":
    main()
