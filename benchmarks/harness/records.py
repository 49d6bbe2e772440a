"""Groups of records, which are dictionaries with the fields of a run."""


def grouped(records, fields):
    """Return the lists of records that have equal values of some fields, in order of their first records."""
    groups = {}
    for record in records:
        groups.setdefault(str([record.get(name) for name in fields]), []).append(record)
    return list(groups.values())


def with_reference(records, fields, **where):
    """Return each record with the one that has equal values of the fields and matches ``where``, or None."""
    return [
        (record, next((other for other in group if where.items() <= other.items()), None))
        for group in grouped(records, fields)
        for record in group
    ]


def rows_of(records, fields):
    """Return the rows of a grid for the distinct values of some fields; the text of None is empty."""
    wheres = [{name: group[0][name] for name in fields} for group in grouped(records, fields)]
    return [(["" if value is None else value for value in where.values()], where) for where in wheres]
