"""Web addresses that users give: checked before anything of them is printed, as passwords are sometimes written into them."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from worldprobe.errors import UserError

#: Characters that end an address or begin a part in which passwords and keys are written.
SECRET_MARKS = "@?#"


def check_address(url: str, where: str, secret_hint: str, example: str) -> SplitResult:
    """The parts of a web address that contains nothing but scheme, host, port and path.

    Args:
        url: the address.
        where: the option or key that gave it, for messages.
        secret_hint: how to fix an address that contains more.
        example: a right address, for messages.

    Raises:
        UserError: it contains @, ? or # (nothing of it is printed then), or is not a valid address.
    """
    if any(mark in url for mark in SECRET_MARKS):
        raise UserError(where, "contains more than an address: one of @, ? and #.", secret_hint)
    fix = f"Give an address such as {example}."
    if any(not "!" <= letter <= "~" for letter in url):
        raise UserError(where, f"{url!r} contains a space, a control character or a letter outside ASCII.", fix)
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname
    except ValueError as error:
        raise UserError(f"{where} {url}", "is not a valid web address: its host or port cannot be read.", fix) from error
    if parts.scheme not in ("http", "https") or not host or port == 0:
        raise UserError(f"{where} {url}", "is not a valid web address.", fix)
    return parts
