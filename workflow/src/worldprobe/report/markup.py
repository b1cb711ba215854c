"""Markup that others wrote, checked before it becomes part of the page: nothing in it may run or fetch anything.

The page forbids both by its Content-Security-Policy as well; this check is what names the file and the reason.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

#: Elements that run, fetch, submit or change how the rest of the page is read.
REFUSED_ELEMENTS = frozenset(
    [
        "script",
        "iframe",
        "frame",
        "frameset",
        "object",
        "embed",
        "applet",
        "link",
        "base",
        "meta",
        "form",
        "portal",
        "foreignobject",
        "math",
        "template",
        "noscript",
    ]
)
#: Attributes whose value is an address.
ADDRESSES = frozenset(
    [
        "href",
        "xlink:href",
        "src",
        "srcset",
        "data",
        "action",
        "formaction",
        "poster",
        "background",
        "cite",
        "longdesc",
        "ping",
        "manifest",
        "lowsrc",
        "dynsrc",
    ]
)
#: Addresses inside styles: anything but a part of the same document.
STYLE_ADDRESS = re.compile(r"url\(\s*['\"]?\s*(?!#|data:image/)|@import|expression\(|image-set\(", re.IGNORECASE)


def find_harm(markup: str) -> str | None:
    """What in HTML or SVG would run or fetch something, in words, or None.

    >>> find_harm('<img src="data:image/png;base64,AA=="><a href="#top">up</a>')
    >>> find_harm('<svg onload="alert(1)"></svg>')
    'the attribute onload of <svg>'
    """
    reader = _Reader()
    reader.feed(markup)
    reader.close()
    return reader.harm


class _Reader(HTMLParser):
    """Notes the first harmful element or attribute."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.harm: str | None = None
        self._in_style = False

    def _note(self, harm: str) -> None:
        self.harm = self.harm or harm

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in REFUSED_ELEMENTS:
            self._note(f"<{tag}>")
        self._in_style = tag == "style"
        for name, value in attrs:
            address = re.sub(r"[\s\x00-\x1f]", "", value or "").lower()
            is_image = name in ("src", "href", "xlink:href") and tag in ("img", "image") and address.startswith("data:image/")
            if name.startswith("on"):
                self._note(f"the attribute {name} of <{tag}>")
            elif name in ADDRESSES and not is_image and not address.startswith("#") and address:
                self._note(f"the attribute {name} of <{tag}>, which leads out of the page")
            elif STYLE_ADDRESS.search(_unescaped(value or "")):
                self._note(f"the attribute {name} of <{tag}>, which fetches something")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self._in_style = False

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False

    def handle_data(self, data: str) -> None:
        # Inside SVG a browser reads elements within <style>; a style sheet needs no "<".
        if self._in_style and ("<" in data or STYLE_ADDRESS.search(_unescaped(data))):
            self._note("a style sheet that fetches something")


def _unescaped(style: str) -> str:
    r"""A style with CSS escapes read, so that ``\75rl(`` is found too."""
    return re.sub(r"\\([0-9a-fA-F]{1,6})\s?", lambda match: chr(min(int(match.group(1), 16), 0x10FFFF)), style)
