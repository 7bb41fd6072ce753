"""`python -m loomconv` is `loomconv`."""

from loomconv.cli import main

main()
