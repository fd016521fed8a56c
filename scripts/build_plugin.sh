#!/bin/sh
# Builds the Storm plugin's jar into the package, from which it goes into the wheel. Quick when the
# jar is newer than its sources. Planning needs no plugin, so its absence is told and stops nothing.
set -eu
cd "$(dirname "$0")/.."

JAR=src/penstock/engines/storm/jars/penstock-storm.jar

say() { printf '[plugin] %s\n' "$*" >&2; }

is_current() {
    [ -f "$JAR" ] && [ -z "$(find storm-plugin/pom.xml storm-plugin/src/main -newer "$JAR" -type f)" ]
}

if is_current; then
    exit 0
fi
if ! command -v mvn >/dev/null || ! command -v javac >/dev/null; then
    # Told once, at the first set-up.
    [ "${1:-}" = again ] || say "No Maven (mvn) or no JDK here: the Storm plugin is not built. All but Storm works without."
    exit 0
fi
say "Building the Storm plugin (half a minute the first time)"
# What Maven has fetched once is there; only if something is missing is the network asked.
build() { mvn --batch-mode --quiet "$@" -f storm-plugin/pom.xml package -DskipTests; }
if ! build --offline >/dev/null 2>&1 && ! build; then
    say "Maven could not build it; its own message is above. All but Storm works without."
    exit 0
fi
mkdir -p "$(dirname "$JAR")"
# Moved into place: a build beside this one never leaves half a jar.
cp storm-plugin/target/penstock-storm.jar "$JAR.part"
mv "$JAR.part" "$JAR"
