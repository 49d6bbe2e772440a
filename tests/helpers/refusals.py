"""Messages of rejections."""

import pytest

from fsmodels.errors import DataError


def refusal(call, *args, error=DataError, **options) -> str:
    """Return the message with which a call is refused."""
    with pytest.raises(error) as caught:
        call(*args, **options)
    return str(caught.value)
