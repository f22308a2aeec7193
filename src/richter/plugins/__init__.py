"""What other tools load: an Inspect extension, a pytest plugin, and results handed to experiment trackers.

The room stands above `audit`, since a plugin may use whatever an audit uses, and below `cli`; nothing else may import
it. Each module imports its host (inspect_ai, pytest, mlflow, wandb) and is loaded by that host, or for it, alone.
"""

__all__: list[str] = []
