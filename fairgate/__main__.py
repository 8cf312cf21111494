"""`python -m fairgate`."""

import sys

from fairgate.cli import main

sys.exit(main())
