"""What a judge imports. The process that judges are forked from imports this module, once for all of them."""

from ..imports import without_collecting

with without_collecting():
    from ..judging import judge  # noqa: F401
