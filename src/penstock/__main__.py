"""``penstock`` and ``python -m penstock``: loads the command line, and runs it."""

import sys


def main() -> None:
    """Loading takes a moment, in which Ctrl-C is as orderly an end as later."""
    try:
        from penstock.cli.main import main as run
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
