"""The error table, as data.

Rows are tried by what they look at, in this order: code, type, details, headers, words of
the message, status. Among rows that look at the same, the first in this list wins, so the
particular ones stand before the general ones.
"""

from typing import Final

from dure.ai.table.chat import CHAT
from dure.ai.table.claude import CLAUDE
from dure.ai.table.everyone import ANY, FINISHES
from dure.ai.table.google import GOOGLE

RULES: Final = (*FINISHES, *CHAT, *CLAUDE, *GOOGLE, *ANY)
