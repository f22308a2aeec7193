"""`python -m richter`."""

from richter.cli import main

main()
