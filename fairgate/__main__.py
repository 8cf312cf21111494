"""`python -m fairgate`, which is the command `fairgate`."""

import sys

from fairgate.cli.main import main

sys.exit(main())
