"""Reading what was handed in: in its own process, which has limits and can be ended.

`Reader` is the way in. What it answers is decoded strictly into declared types (`messages.py`). The
process itself (`worker.py`) imports readers of files and nothing of the referee.
"""
