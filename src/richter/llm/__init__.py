"""Model access: one protocol, three backends, and asking through the ledger under a budget."""

from richter.llm._asker import Asker, Asks, Direct, Job, Tally
from richter.llm._budget import Budget, parse_budget
from richter.llm._model import Message, Model
from richter.llm._open import check_model, check_price, open_local, open_model
from richter.llm._prices import ANY_MODEL, Price, Prices, price_of, read_prices
from richter.llm._prompts import messages_for
from richter.llm._providers import BUILT_IN, PROVIDERS, ModelSpec, resolve
from richter.llm._weights import WEIGHTS, smollm2_path, weights_cached

__all__ = [
    "ANY_MODEL",
    "BUILT_IN",
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
    "Prices",
    "Tally",
    "check_model",
    "check_price",
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
