"""The live explorer: a panel for Jupyter and for the browser, and the thread that answers its requests.

``panel.js`` and ``panel.css`` are the only front end. ``widget`` shows it in Jupyter, ``server`` in the browser, and
``worker`` answers both. anywidget, starlette and uvicorn are imported by the last two only (``pip install
"fsmodels[app]"``).

May import every package of ``fsmodels`` except ``fsmodels.cli``.
"""
