"""``penstock certify``: a proof of how far a plan is from the best there is, as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock import app
from penstock.cli import options
from penstock.cli.output import show, write_file, write_json
from penstock.errors import EXIT_DONE
from penstock.files.certificate_file import certificate_text
from penstock.planning.certificates import EFFORT
from penstock.report.pages.certificate import certificate_dict, certificate_page, refuted


def command(
    plan: Annotated[Path, typer.Argument(help="A plan file.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File to write the certificate to.")
    ] = None,
    effort: Annotated[
        float, typer.Option("--effort", help="Most ranges of instance counts to look at.")
    ] = EFFORT,
    as_json: options.Json = False,
) -> int:
    """Prove that no plan carries more than so much, and write the proof down.

    penstock certify plan.json -o certificate.json

    penstock certify plan.json --effort 500 --json
    """
    certification = app.certify(options.load_plan(plan), effort)
    certificate = certification.certificate
    if output is not None:
        write_file(output, certificate_text(certificate))
    if as_json:
        write_json(certificate_dict(certificate, certification.scale, checked=False))
    else:
        show(
            certificate_page(
                certificate,
                certification.scale,
                refuted(certificate.steps),
                better=certification.best_scale,
                checked=False,
            )
        )
    return EXIT_DONE
