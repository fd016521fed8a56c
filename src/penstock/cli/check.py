"""``penstock check``: is the proof in a certificate one?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock import app
from penstock.cli import options
from penstock.cli.output import show, write_json
from penstock.errors import EXIT_DONE
from penstock.files.certificate_file import read_certificate
from penstock.report.pages.certificate import certificate_dict, certificate_page


def command(
    certificate: Annotated[
        Path, typer.Argument(help="A certificate, as penstock certify wrote it.")
    ],
    as_json: options.Json = False,
) -> int:
    """Go through every step of a certificate, by code that knows neither solver nor search.

    penstock check certificate.json

    penstock check certificate.json --json
    """
    checked = app.check(read_certificate(certificate))
    if as_json:
        write_json(certificate_dict(checked.certificate, checked.scale, checked=True))
    else:
        show(certificate_page(checked.certificate, checked.scale, checked.boxes, checked=True))
    return EXIT_DONE
