"""Long campaigns on reliability, which `make soak` runs: `python tests/soak [NAME [NUMBER]]`."""
