"""``python -m odtbook`` is the ``odt`` command."""

import sys

from odtbook.cli import main

sys.exit(main())
