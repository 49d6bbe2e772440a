"""``python -m fsmodels`` is the command ``fsmodels``."""

import sys

from fsmodels.cli import main

sys.exit(main())
