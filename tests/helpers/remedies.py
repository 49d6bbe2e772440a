"""Options that messages name."""

import re
import shlex

OPTION = re.compile(r"""--(sep|decimal|thousands|encoding|sheet) ("[^"]*"|'[^']*'|[^\s,()]+|,)""")


def options_in(message):
    """Each choice of options that a message offers, as keywords."""
    choices = []
    for part in re.split(r", or (?=--)", message):
        found = {name: shlex.split(value)[0] for name, value in OPTION.findall(part.partition(" (Python:")[0])}
        if found:
            choices.append({name: "\t" if value == "tab" else value for name, value in found.items()})
    return choices
