"""The command ``odt data``: list, check and fetch data sets."""

from __future__ import annotations

import sys
import urllib.parse

from odtbook.datasets import catalogue, loading, manifest
from odtbook.datasets.tables import DataError


def add_parser(subparsers) -> None:
    """Add ``data`` and its three actions to the subcommands of ``odt``."""
    data = subparsers.add_parser("data", help="list, check and fetch data sets")
    actions = data.add_subparsers(metavar="{list,check,fetch}", required=True)

    listing = actions.add_parser("list", help="show the data sets and where each would come from")
    listing.add_argument("--kind", choices=catalogue.KINDS, help="only one kind")
    listing.add_argument("--task", choices=catalogue.TASKS, help="only one task")
    listing.set_defaults(command=list_command)

    check = actions.add_parser("check", help="compare the data sets at hand with the manifest")
    check.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    check.set_defaults(command=check_command)

    fetch = actions.add_parser("fetch", help="fetch data sets into the cache")
    fetch.add_argument("names", nargs="*", metavar="NAME")
    fetch.add_argument("--kind", choices=catalogue.KINDS, help="all of one kind")
    fetch.add_argument("--all", action="store_true", help="all that are not at hand")
    fetch.add_argument("--force", action="store_true", help="fetch also what is at hand")
    fetch.set_defaults(command=fetch_command)


def _place(entry: catalogue.Entry) -> str:
    """Where a data set would be taken from now, without reading it: a place or a host."""
    if entry.make is not None:
        return "generated"
    found = loading.find_file(entry)
    if found is not None:
        return found[0]
    hosts = (urllib.parse.urlsplit(source.url).hostname for source in entry.downloads)
    return next(hosts, "nowhere")


def list_command(arguments) -> int:
    """Print one line per data set: shape, classes or targets, and where it is."""
    print(f"{'name':44}{'rows':>7}{'features':>9}{'classes':>8}{'targets':>8}  from")
    for name in loading.available(arguments.kind, arguments.task):
        facts = manifest.facts()[name]
        print(
            f"{name:44}{facts['rows']:7}{facts['features']:9}{facts.get('classes', ''):>8}"
            f"{facts.get('targets', ''):>8}  {_place(catalogue.entries()[name])}"
        )
    listed = _entries(loading.available(arguments.kind, arguments.task))
    _advise(entry for entry in listed if entry.make is None and not loading.find_file(entry))
    return 0


def _advise(entries) -> None:
    """Say on standard error what to do for the data sets that are not at hand."""
    groups = {True: [], False: []}
    for entry in entries:
        groups[bool(entry.downloads)].append(entry)
    if groups[True]:
        print(f"odt: {len(groups[True])} data sets are not at hand and can be fetched: run "
              "`odt data fetch NAME`.", file=sys.stderr)
    if groups[False]:
        print(f"odt: {len(groups[False])} data sets are not at hand and have no source on the "
              "network: set the environment variable ODTLIB_DATA to a folder that holds "
              f"{', '.join(dict.fromkeys(entry.file for entry in groups[False]))}.",
              file=sys.stderr)


def _entries(names) -> list[catalogue.Entry]:
    return [catalogue.find(name) for name in names]


def check_command(arguments) -> int:
    """Check the data sets that are available locally and fetch nothing; exit status 1 if a file is
    wrong."""
    status, missing = 0, []
    for entry in _entries(arguments.names or catalogue.entries()):
        try:
            found = loading.find_table(entry)
        except DataError as error:
            print(f"wrong    {entry.name}: {error}")
            status = 1
            continue
        if found is None:
            missing.append(entry)
        else:
            print(f"right    {entry.name} ({_place(entry)})")
    for entry in missing:
        print(f"missing  {entry.name} ({_place(entry)})")
    if arguments.names:
        for entry in missing:
            print(f"odt: {entry.name}: {loading.advice(entry)}", file=sys.stderr)
    else:
        _advise(missing)
    return 1 if arguments.names and missing else status


def fetch_command(arguments) -> int:
    """Fetch the data sets named; exit status 1 if one could not be fetched."""
    names = list(arguments.names)
    if arguments.all or arguments.kind:
        names += loading.available(arguments.kind)
    if not names:
        print("odt: name the data sets to fetch (`odt data list` shows them), or give --kind or "
              "--all.", file=sys.stderr)
        return 2
    status = 0
    for entry in _entries(dict.fromkeys(names)):
        try:
            made = entry.make is not None
            if made or (loading.find_file(entry) is not None and not arguments.force):
                print(f"at hand  {entry.name} ({_place(entry)})")
                continue
            loading.fetch_table(entry)
            print(f"fetched  {entry.name} ({loading.cache_file(entry)})")
        except (DataError, FileNotFoundError) as error:
            print(f"failed   {entry.name}: {error}", file=sys.stderr)
            status = 1
    return status
