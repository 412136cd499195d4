"""What a candidate did: its outputs beside the oracle's, its schedule replayed and compared.

Answers are held here, and runners are asked; nothing is judged. `case.py` has the nouns.
"""
