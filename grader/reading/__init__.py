"""Reading what was handed in: in a process of its own, which has limits and can be ended.

`Reader` is the way in. What it answers is decoded strictly into declared types (`messages.py`). The
process itself (`worker.py`) imports readers of files and nothing of the referee.
"""
