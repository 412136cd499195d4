#!/usr/bin/env bash
# Written by `grader ci init @@{SERVICE}`, and yours to change. It makes the environment of the notebooks: PyTorch,
# TVM and the self-check, at locked versions.
set -euo pipefail
cd "$(dirname "$0")/.."

environment=$HOME/.grader-environment
if [ ! -x "$environment/bin/python" ]; then
    python3 -I -m venv "$environment"
fi
# --no-deps: nothing is fetched but what the lock names.
"$environment/bin/pip" install --quiet --no-cache-dir --no-deps \
    --index-url https://download.pytorch.org/whl/cpu --requirement .grader/torch.txt
(cd .grader &&
    "$environment/bin/pip" install --quiet --no-cache-dir --no-deps --require-hashes --requirement requirements.txt)
"$environment/bin/pip" check

# As "python3", which notebooks ask for. Binder's Jupyter looks into its own folder first.
"$environment/bin/python" -I -m ipykernel install --prefix "${NB_PYTHON_PREFIX:-$HOME/.local}" --name python3
