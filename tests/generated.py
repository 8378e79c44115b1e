"""The settings of tests that make their cases up; import it before their `@given`.

A run takes the same cases each time. Where CI is set it takes many.
"""

import hypothesis
import hypothesis.configuration
from hypothesis import HealthCheck, Phase

from tests.conftest import IN_CI, ROOT

hypothesis.configuration.set_hypothesis_home_dir(ROOT / ".pytest_cache" / "hypothesis")
COMMON = hypothesis.settings(
    deadline=None,  # a busy machine is no failure
    derandomize=True,
    database=None,
    phases=set(Phase) - {Phase.explain},  # it would trace each line
    suppress_health_check=list(HealthCheck),
)
for name, examples, steps in (("small", 10, 20), ("large", 100, 50)):
    hypothesis.settings.register_profile(
        name, COMMON, max_examples=examples, stateful_step_count=steps
    )
hypothesis.settings.load_profile("large" if IN_CI else "small")


def cases(large: int) -> hypothesis.settings:
    """Settings for so many cases in a large run, and a tenth of them in a small one."""
    return hypothesis.settings(max_examples=large if IN_CI else large // 10)
