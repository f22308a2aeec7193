"""A number of 5,000 digits is TOML that Python refuses to read: every reader of TOML says so in words."""

from pathlib import Path

import pytest

from richter.audit import read_plan
from richter.cli._main import project_defaults
from richter.errors import InputError, PlanError
from richter.models import read_prices

DIGITS = "9" * 5_000


def test_a_plan_with_an_endless_number_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(f'kind = "gate"\nlevel = {DIGITS}\n')
    with pytest.raises(PlanError, match="not TOML"):
        read_plan(tmp_path / "plan.toml")


def test_settings_with_an_endless_number_are_refused(tmp_path: Path) -> None:
    (tmp_path / "richter.toml").write_text(f"seed = {DIGITS}\n")
    with pytest.raises(InputError, match="cannot be read"):
        project_defaults(tmp_path)


def test_prices_with_an_endless_number_are_refused(tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text(f'["openai/x"]\ninput_usd = {DIGITS}\n')
    with pytest.raises(InputError, match="cannot be read"):
        read_prices(tmp_path / "prices.toml")
