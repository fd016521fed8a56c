"""Write the generated parts of the documentation: formats, command line, results, pictures.

Everything written here is the same on every machine, so CI can check that it is up to date. Times
differ from machine to machine and are printed by ``penstock bench`` only.
"""

from __future__ import annotations

from documentation.command_line import write_command_line
from documentation.formats import write_formats
from documentation.output import DOCS, ROOT
from documentation.pages import fill_notebook, fill_outputs, fill_table, fill_tutorial
from documentation.pictures import write_pictures
from documentation.python import write_python
from documentation.results import write_reproduction, write_results


def main() -> None:
    write_formats()
    write_command_line()
    write_results()
    write_reproduction()
    write_pictures()
    fill_outputs(ROOT / "README.md")
    fill_table(ROOT / "README.md")
    fill_outputs(DOCS / "concepts.md")
    write_python()
    fill_tutorial(DOCS / "tutorials" / "own-topology.md")
    fill_notebook(DOCS / "tutorials" / "notebook.ipynb")


if __name__ == "__main__":
    main()
