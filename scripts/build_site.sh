#!/bin/sh
# Builds the documentation as a site in site/. MkDocs is installed at the first use only: nothing
# else needs it, so it is no part of the set-up.
set -eu
cd "$(dirname "$0")/.."

PYTHON=.venv/bin/python
if ! "$PYTHON" -c 'import material, mkdocs, mkdocstrings_handlers.python' 2>/dev/null; then
    echo "[site] Installing MkDocs into .venv" >&2
    "$PYTHON" -m pip --disable-pip-version-check --no-input install --quiet \
        --constraint constraints.txt --editable '.[docs]'
fi
# Its makers' remark on a next version is for the people who build themes.
NO_MKDOCS_2_WARNING=1 "$PYTHON" -m mkdocs build --strict --quiet
"$PYTHON" scripts/check_site.py site
