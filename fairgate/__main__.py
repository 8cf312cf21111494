"""`python -m fairgate`, which is the command `fairgate`."""

import sys

from fairgate.core import address_space


def main() -> int:
    """Run the command; see `fairgate.cli.main`, which imports numpy and more."""
    address_space.require()
    from fairgate.cli.main import main as command

    return command()


if __name__ == "__main__":
    sys.exit(main())
