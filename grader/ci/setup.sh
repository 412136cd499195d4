#!/usr/bin/env bash
# Written by `grader ci init gradescope`. Gradescope runs it once, as root, to make the image.
set -euo pipefail
umask 022

# The folder of an environment that is there already, where the image was made by hand.
environment=${GRADER_ENVIRONMENT:-/opt/grader}

# Here lies the oracle.
chmod 0700 /autograder/source
cd /autograder/source

if [ ! -x "$environment/bin/grader" ]; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends python3 python3-venv bubblewrap util-linux
    python3 -I -m venv "$environment"
    # --no-deps: nothing is fetched but what the lock names.
    "$environment/bin/pip" install --no-cache-dir --no-deps \
        --index-url https://download.pytorch.org/whl/cpu --requirement torch.txt
    "$environment/bin/pip" install --no-cache-dir --no-deps --require-hashes --requirement requirements.txt
    "$environment/bin/pip" check
fi

# Submissions are graded in copies of this image: what is fetched now is there for all of them.
export XDG_CACHE_HOME=/autograder/source/cache
"$environment/bin/python" -c '
import os, pathlib
from grader.ci.fetch import fetch_data
print("Data:", *fetch_data(pathlib.Path("course"), os.environ))
'

"$environment/bin/grader" doctor || true
