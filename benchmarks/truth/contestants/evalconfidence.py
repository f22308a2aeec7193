"""evalconfidence: `compare` on item results, paired by itself where nine tenths of the items are shared."""

from evalconfidence import ItemResult, compare
from play import Refused, claim, group_of, sides, versus

requires = "evalconfidence==0.1.1"
ways = ("default", "recommended")


def answer(world, table, way):
    if way == "recommended" and None not in table.get("correct", ()):
        return "same"
    found = sides(world, table)
    if found is None:
        return None
    passage = group_of(table) or {}

    def results(name, items):
        return [
            ItemResult(item_id=i, model_id=name, score=x, epoch=k, cluster_id=passage.get(i))
            for i, values in items.items()
            for k, x in enumerate(values)
        ]

    (base, first), *_ = found.items()
    claims = []
    for name, items in versus(found):
        # its message on missing items: the interval is tighter where both systems are paired on what they share
        paired = True if way == "recommended" else "auto"
        try:
            told = compare(results(name, items), results(base, first), paired=paired)
        except ValueError as error:
            raise Refused(str(error)) from error
        claims.append(claim(told.significant, told.diff, told.ci_diff, name=name))
    return claims
