"""``python -m fsmodels.cli`` is the command ``fsmodels``."""

import sys

from fsmodels.cli import main

sys.exit(main())
