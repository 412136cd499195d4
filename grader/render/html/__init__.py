"""The report as one HTML page that needs nothing else: no script, no font, no request."""

from grader.render.html.page import render_html

__all__ = ["render_html"]
