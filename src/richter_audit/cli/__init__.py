"""Commands of this package, each found by an entry point of the group `richter.commands`."""
