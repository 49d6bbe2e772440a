"""What messages tell a user to type, typed."""

import re
import shlex
import subprocess
import sys

OPTION = re.compile(r"""--(sep|decimal|thousands|encoding|sheet) ("[^"]*"|'[^']*'|[^\s,()]+|,)""")


def options_in(message):
    """Each choice of options that a message offers, as keywords."""
    choices = []
    for part in re.split(r", or (?=--)", message):
        found = {name: shlex.split(value)[0] for name, value in OPTION.findall(part.partition(" (Python:")[0])}
        if found:
            choices.append({name: "\t" if value == "tab" else value for name, value in found.items()})
    return choices


def run_line(message, folder):
    """Run the command that a message ends with, and return the file that it wrote."""
    before = set(folder.iterdir())
    command = shlex.split(message[message.index("python -c") :])
    done = subprocess.run([sys.executable, *command[1:]], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (new,) = set(folder.iterdir()) - before
    return new
