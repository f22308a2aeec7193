"""Tail shape: is one condition's tail really heavier than another's? Only behind every gate."""

from richter.tail._plan import LEAVE_REASONS, TRANSFORMS, Step, TailPlan

__all__ = ["LEAVE_REASONS", "TRANSFORMS", "Step", "TailPlan"]
