"""Hooks of MkDocs: pages that lie at the root of the repository, and the notebook as a page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
#: Pages of the site that are files at the root of the repository.
ROOT_PAGES = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "reporting-a-weakness.md",
}
NOTEBOOK = "tutorials/notebook.ipynb"


def on_files(files: Any, config: Any) -> Any:
    for name, page in ROOT_PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, page, content=_with_links(text, depth=0)))
    notebook = (ROOT / "docs" / NOTEBOOK).read_text(encoding="utf-8")
    page = NOTEBOOK.replace(".ipynb", ".md")
    files.append(File.generated(config, page, content=notebook_page(json.loads(notebook))))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    return _with_links(markdown, depth=page.file.src_uri.count("/"))


def _with_links(text: str, *, depth: int) -> str:
    """Links to files at the root of the repository lead to their pages."""
    up = "../" * depth
    for name, page in ROOT_PAGES.items():
        text = re.sub(rf"\]\((\.\./)*{name}([)#])", rf"]({up}{page}\2", text)
    return text.replace(f"]({NOTEBOOK})", f"]({NOTEBOOK.replace('.ipynb', '.md')})")


def notebook_page(notebook: dict[str, Any]) -> str:
    """A notebook's cells as Markdown: text, code, and what the code printed."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        printed = "".join("".join(output.get("text", "")) for output in cell["outputs"])
        if printed:
            parts.append(f"```\n{printed.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"
