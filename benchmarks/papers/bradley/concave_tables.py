"""Bradley, Mangasarian and Street 1998: FSS, FSV, FSB and OBD on the paper's two problems, tables 1-3, figures 1-8.

    python -m benchmarks concave_tables           # one division of the data, one start each: some five minutes
    python -m benchmarks concave_tables --full    # five divisions, all starts: about 25 minutes

What the log has already is not computed again; ``concave_tasks`` is the protocol, ``concave_page`` the page.
"""

from benchmarks.harness.log import Log, arguments, ended
from benchmarks.papers.bradley import page as concave_page
from benchmarks.papers.bradley import tasks as concave_tasks

NAME = "concave_tables"


def main(words=None):
    """Run the tasks that are not in the log, and write the page."""
    options = arguments(__doc__).parse_args(words)
    log = Log(NAME)
    if options.fresh:
        log.clear()
    if not options.page:
        run(log, concave_tasks.tasks(options.full), options)
    log.pack()
    concave_page.write(log.entries())


def run(log, tasks, options):
    """Run the tasks that are not in the log."""
    known = log.done(*concave_tasks.KEY)
    left = [task for task in tasks if concave_tasks.key(task) not in known]
    for number, entry in enumerate(ended(left, concave_tasks.one_task, options.minutes, options.jobs), 1):
        log.add(entry)
        print(f"{number}/{len(left)}: {', '.join(str(entry[name]) for name in concave_tasks.KEY[1:])}", flush=True)
