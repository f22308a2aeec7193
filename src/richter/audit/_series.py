"""What a series of runs is known by: how many days it needs, and the part of a run that holds canaries."""

FEWEST = 8  # days before which nothing can be told
CANARIES = "canaries"  # the part of a run in which fixed answers are rated anew
