"""Where work is done: in this process, or on the machines of a Ray cluster. It changes no number."""

from richter.engine._engine import Engine, LocalEngine, open_engine, own_version
from richter.engine._ray import RayEngine

__all__ = ["Engine", "LocalEngine", "RayEngine", "open_engine", "own_version"]
