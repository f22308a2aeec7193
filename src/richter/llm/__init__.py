"""Model access: one protocol, three backends, and asking through the ledger under a budget."""

from richter.llm._asker import Asker, Asks, Direct, Job, Tally
from richter.llm._budget import Budget, parse_budget
from richter.llm._model import Message, Model
from richter.llm._open import check_model, open_local, open_model
from richter.llm._prices import PRICES, Price, price_of, read_prices
from richter.llm._prompts import messages_for
from richter.llm._providers import BUILT_IN, PROVIDERS, ModelSpec, resolve
from richter.llm._weights import WEIGHTS, smollm2_path, weights_cached

__all__ = [
    "BUILT_IN",
    "PRICES",
    "PROVIDERS",
    "WEIGHTS",
    "Asker",
    "Asks",
    "Budget",
    "Direct",
    "Job",
    "Message",
    "Model",
    "ModelSpec",
    "Price",
    "Tally",
    "check_model",
    "messages_for",
    "open_local",
    "open_model",
    "parse_budget",
    "price_of",
    "read_prices",
    "resolve",
    "smollm2_path",
    "weights_cached",
]
