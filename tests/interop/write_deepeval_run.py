"""Have DeepEval write a test run with two metrics of our own, one of which fails on a case; no model is asked."""

import os
import sys

os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"
os.environ["DEEPEVAL_RESULTS_FOLDER"] = sys.argv[1]

from deepeval import evaluate
from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig, ErrorConfig
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase


class Same(BaseMetric):
    def __init__(self, label, threshold):
        self.label = label
        self.threshold = threshold
        self.async_mode = False

    def measure(self, case, *_, **__):
        if case.input == "Q4":
            raise ValueError("no verdict")
        self.score = 0.8 if case.actual_output == case.expected_output else 0.2
        self.success = self.score >= self.threshold
        return self.score

    async def a_measure(self, case, *_, **__):
        return self.measure(case)

    def is_successful(self):
        return self.success

    @property
    def __name__(self):
        return self.label


evaluate(
    test_cases=[
        LLMTestCase(input=f"Q{i}", actual_output="a" if i % 2 else "b", expected_output="a", name=f"case{i}")
        for i in range(6)
    ],
    metrics=[Same("Correctness", 0.5), Same("Style", 0.9)],
    async_config=AsyncConfig(run_async=False),
    display_config=DisplayConfig(show_indicator=False, print_results=False),
    cache_config=CacheConfig(write_cache=False),
    error_config=ErrorConfig(ignore_errors=True),
    hyperparameters={"model": "gpt-4o"},
)
