"""The two implementations of the oracle's interior point; the compiled one is optional."""

import pytest

from fsmodels.models.fsp.oracle import relaxation

needs_compiled = pytest.mark.skipif(relaxation.loop is None, reason="installed without a C compiler")
LOOPS = ["numpy", pytest.param("compiled", marks=needs_compiled)]
