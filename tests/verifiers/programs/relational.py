"""The program behind ``RelationalSmokeTest``: articles, their comments, and joins both ways.

The values have the test's own binary format: big-endian numbers, texts with their length in front.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import penstock as ps

APPLICATION = "RelationalSmokeTest"
ARTICLES, COMMENTS = "in-article", "in-comment"
FULL_ARTICLES, FULL_COMMENTS = "out-augmented-article", "out-augmented-comment"
#: How many partitions each topic has in Kafka's own run.
TOPICS = {ARTICLES: 3, COMMENTS: 5, FULL_ARTICLES: 3, FULL_COMMENTS: 5}
_PREFIX = 10
_HEAD = struct.Struct(">iqi")


class Article(NamedTuple):
    """An article; ``comments`` counts its comments in the output."""

    key: int
    timestamp: int
    text: bytes
    comments: int = 0


class Comment(NamedTuple):
    """A comment on an article; ``prefix`` begins the article's text in the output."""

    key: int
    timestamp: int
    text: bytes
    article: int
    prefix: bytes = b""


def build() -> ps.Topology:
    """Count the comments of each article, and give each comment the beginning of its article."""
    builder = ps.StreamsBuilder()
    articles = builder.table(
        ARTICLES, key="integer", value=ps.Serdes.serde_from(write_article, read_article)
    )
    comments = builder.table(
        COMMENTS, key="integer", value=ps.Serdes.serde_from(write_comment, read_comment)
    )
    counts = comments.group_by(
        lambda _, comment: (comment.article, 1),
        ps.Grouped(key="integer", value="short"),
    ).count()
    full_article = ps.Serdes.serde_from(write_full_article, read_full_article)
    articles.left_join(
        counts,
        lambda article, count: article._replace(comments=count or 0),
        materialized=ps.Materialized(value=full_article),
    ).to_stream().to(FULL_ARTICLES)
    full_comment = ps.Serdes.serde_from(write_full_comment, read_full_comment)
    comments.join(
        articles,
        lambda comment, article: comment._replace(prefix=article.text[:_PREFIX]),
        foreign_key=lambda comment: comment.article,
        materialized=ps.Materialized(value=full_comment),
    ).to_stream().to(FULL_COMMENTS)
    return builder.build()


def write_article(article: Article) -> bytes:
    return _HEAD.pack(article.key, article.timestamp, len(article.text)) + article.text


def read_article(data: bytes) -> Article:
    key, timestamp, text, _ = _read_head(data)
    return Article(key, timestamp, text)


def write_full_article(article: Article) -> bytes:
    return write_article(article) + struct.pack(">q", article.comments)


def read_full_article(data: bytes) -> Article:
    key, timestamp, text, rest = _read_head(data)
    return Article(key, timestamp, text, struct.unpack(">q", rest)[0])


def write_comment(comment: Comment) -> bytes:
    head = _HEAD.pack(comment.key, comment.timestamp, len(comment.text))
    return head + comment.text + struct.pack(">i", comment.article)


def read_comment(data: bytes) -> Comment:
    key, timestamp, text, rest = _read_head(data)
    return Comment(key, timestamp, text, struct.unpack_from(">i", rest)[0])


def write_full_comment(comment: Comment) -> bytes:
    return write_comment(comment) + struct.pack(">i", len(comment.prefix)) + comment.prefix


def read_full_comment(data: bytes) -> Comment:
    key, timestamp, text, rest = _read_head(data)
    return Comment(key, timestamp, text, struct.unpack_from(">i", rest)[0], rest[8:])


def _read_head(data: bytes) -> tuple[int, int, bytes, bytes]:
    """Return key, timestamp and text, and what follows them."""
    key, timestamp, length = _HEAD.unpack_from(data)
    end = _HEAD.size + length
    return key, timestamp, data[_HEAD.size : end], data[end:]
