"""Economy news, crawled, summarised and turned into term cards, insights and quizzes."""

from newsroom.program import Newsroom
from newsroom.settings import Settings

__all__ = ["Newsroom", "Settings"]
