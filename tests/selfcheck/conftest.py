"""The browser that answers are opened in."""

from tests.browser import browser, chromium

__all__ = ["browser", "chromium"]
