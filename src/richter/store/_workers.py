"""One process among several that write a run: its lease, and the calls it has claimed.

Times are the database's own, so clocks that disagree between machines do no harm.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from richter.store._database import Transaction
from richter.store._postgres import PostgresDatabase
from richter.store._spending import Spender, Usage

LEASE_S = 30.0  # a worker that has not been heard of for so long is taken for dead
BEAT_S = 5.0

_BEAT = "UPDATE workers SET expires_at = clock() + ?2 WHERE id = ?1"
# what nobody holds, what is ours already, and what a worker held that is dead. After a restart of the server every
# worker has the length of a lease to be heard of again
_CLAIM = """
    INSERT INTO claims SELECT wanted.key, ?1 FROM unnest(CAST(?2 AS TEXT[])) AS wanted (key)
    WHERE NOT EXISTS (
        SELECT 1 FROM claims c JOIN workers w ON w.id = c.worker
        WHERE c.key = wanted.key AND c.worker <> ?1 AND NOT (?4 AND w.expires_at < clock() AND
        extract(epoch FROM clock_timestamp() - pg_postmaster_start_time()) > ?3)
    ) ORDER BY wanted.key
    ON CONFLICT (key) DO UPDATE SET worker = excluded.worker WHERE claims.worker = excluded.worker OR (?4 AND
    extract(epoch FROM clock_timestamp() - pg_postmaster_start_time()) > ?3 AND
    EXISTS (SELECT 1 FROM workers w WHERE w.id = claims.worker AND w.expires_at < clock()))
    RETURNING key
"""
_ANSWERS = """
    SELECT key, text, finish, tokens, logprobs, tokens_in, tokens_out, money_usd, latency_s FROM calls
    WHERE key = ANY(CAST(?1 AS TEXT[]))
"""
_GIVEN_UP = """
    SELECT key, max(error) FROM failures WHERE given_up AND key = ANY(CAST(?1 AS TEXT[])) AND created_at >= ?2
    GROUP BY key
"""
_RELEASE = """
    DELETE FROM claims WHERE key IN (
        SELECT key FROM claims WHERE worker = ?1 AND key = ANY(CAST(?2 AS TEXT[])) ORDER BY key FOR UPDATE
    )
"""
_FAMILY = """
    SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname = 'workers'
    AND split_part(CAST(n.nspname AS TEXT), '/', 1) = split_part(CAST(current_schema() AS TEXT), '/', 1)
    AND n.nspname <> current_schema()
"""


class Claims(NamedTuple):
    """What became of the keys that were wanted: the rest is being made by other processes."""

    ours: frozenset[str]
    answers: Mapping[str, Sequence[Any]]
    failed: Mapping[str, str]


class Worker(Spender):
    """This process's row in `workers` of a database, with a lease that says whether it lives, and its claims."""

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(database)
        self._shared = database

    def _lease_s(self) -> float:
        return LEASE_S

    def _begin(self) -> float:
        new = self._began_at is None
        began_at = super()._begin()
        if new:
            self._shared.keep_doing(_BEAT, (self._id, LEASE_S), every_s=BEAT_S)
        return began_at

    def _elsewhere(self, transaction: Transaction) -> tuple[Usage, int]:
        used, in_flight = Usage(), 0
        for (schema,) in transaction.rows(_FAMILY):
            there, flying = self._others(transaction, f'"{schema}".')
            used, in_flight = used + there, in_flight + flying
        return used, in_flight

    def claim(self, keys: Sequence[str]) -> Claims:
        """Take the calls that nobody has made or is making. One that another process has given up since this one
        began comes back as failed, so that each is tried by one process.
        """
        began_at, wanted = self._begin(), sorted(set(keys))
        back = self._shared.reconnected_at
        may_inherit = back is None or time.monotonic() - back > LEASE_S  # the others were cut off too: let them return

        def claim(transaction: Transaction) -> Claims:
            ours = {key for (key,) in transaction.rows(_CLAIM, (self._id, wanted, LEASE_S, may_inherit))}
            # only now: what was paid for by whoever held a claim until a moment ago is seen
            answers = {key: row for key, *row in transaction.rows(_ANSWERS, (wanted,))}
            failed = {key: error for key, error in transaction.rows(_GIVEN_UP, (wanted, began_at)) if key in ours}
            self.release(transaction, [key for key in ours if key in answers or key in failed])
            return Claims(frozenset(ours - answers.keys() - failed.keys()), answers, failed)

        return self._database.write(claim)

    def release(self, transaction: Transaction, keys: Sequence[str]) -> None:
        """Let go of claims."""
        if keys:
            transaction.rows(_RELEASE, (self._id, list(keys)))

    def _leave(self, transaction: Transaction) -> None:
        """Give back what is claimed too."""
        transaction.rows("DELETE FROM claims WHERE worker = ?1", (self._id,))
        super()._leave(transaction)
