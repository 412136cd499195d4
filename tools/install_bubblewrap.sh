#!/bin/sh
# Installs bubblewrap by the package manager of this system, where it is missing and that asks no
# question: as root, or by a sudo that needs no password. Where neither is possible it says which
# command to run, and ends well: the grader then uses the strongest sandbox that works without.
set -u
if command -v bwrap >/dev/null 2>&1; then
    exit 0
fi

if command -v apt-get >/dev/null 2>&1; then
    command="apt-get install -y -qq bubblewrap"
    # A fresh image has no lists of packages, or old ones that name files that are gone.
    prepare="apt-get update -qq"
elif command -v dnf >/dev/null 2>&1; then
    command="dnf install -y -q bubblewrap" prepare=true
elif command -v pacman >/dev/null 2>&1; then
    command="pacman -S --noconfirm --needed bubblewrap" prepare="pacman -Sy"
elif command -v zypper >/dev/null 2>&1; then
    command="zypper --non-interactive --quiet install bubblewrap" prepare=true
elif command -v apk >/dev/null 2>&1; then
    command="apk add --quiet bubblewrap" prepare=true
else
    echo "bubblewrap is missing, and no package manager is known here: install it for the" \
        "strongest sandbox (https://github.com/containers/bubblewrap)." >&2
    exit 0
fi

if [ "$(id -u)" -eq 0 ]; then
    sudo=""
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    sudo="sudo -n"
else
    echo "bubblewrap is missing. For the strongest sandbox run: sudo $command" >&2
    exit 0
fi

echo "Installing bubblewrap, which sandboxes are made with: $command"
export DEBIAN_FRONTEND=noninteractive
if said=$({ $sudo $prepare && $sudo $command; } </dev/null 2>&1) && command -v bwrap >/dev/null; then
    exit 0
fi
echo "$said" >&2
echo "bubblewrap could not be installed; notebooks are graded in a weaker sandbox, or not at all" \
    "where none works ('grader doctor' tells). To try again: $command" >&2
exit 0
