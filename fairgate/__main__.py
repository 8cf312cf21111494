"""`python -m fairgate`, which is the command `fairgate`."""

import os
import sys

import fairgate

if __name__ == "__main__" and not sys.flags.safe_path:
    # With -m, Python looks for modules in the current folder first, where a numpy.py may be anybody's.
    home = os.path.dirname(os.path.dirname(os.path.realpath(fairgate.__file__)))  # noqa: PTH120 - nothing is imported yet
    sys.path[:1] = [each for each in sys.path[:1] if os.path.realpath(each) == home]

from fairgate.core import address_space


def main() -> int:
    """Run the command; see `fairgate.cli.main`, which imports numpy and more."""
    address_space.require()
    from fairgate.cli.main import main as command

    return command()


if __name__ == "__main__":
    sys.exit(main())
