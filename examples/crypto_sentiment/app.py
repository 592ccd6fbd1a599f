"""Crypto sentiment: posts about currencies in two languages, counted by mood per currency.

Retweets are filtered out, German posts go through a (very small) translator while English ones
pass as they are, both streams are merged, and the count per currency takes a second
sub-topology, behind a repartition topic.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from penstock import KafkaStreams, StreamsBuilder, Topology

config = {"application.id": "crypto-sentiment"}

CURRENCIES = ("bitcoin", "ethereum", "solana")
GOOD = {"great", "love", "rising", "strong", "win"}
BAD = {"awful", "crash", "falling", "hate", "weak"}
ENGLISH_OF = {
    "großartig": "great", "liebe": "love", "steigt": "rising", "stark": "strong",
    "schrecklich": "awful", "absturz": "crash", "fällt": "falling", "schwach": "weak",
}  # fmt: skip


@dataclass(frozen=True)
class Tweet:
    text: str
    language: str
    is_retweet: bool = False


@dataclass(frozen=True)
class Mood:
    currency: str
    score: int


@dataclass(frozen=True)
class Sentiment:
    """How many posts about a currency were in which mood."""

    positive: int = 0
    negative: int = 0
    neutral: int = 0

    def add(self, mood: Mood) -> "Sentiment":
        if mood.score > 0:
            return replace(self, positive=self.positive + 1)
        if mood.score < 0:
            return replace(self, negative=self.negative + 1)
        return replace(self, neutral=self.neutral + 1)


def translate(tweet: Tweet) -> Tweet:
    text = re.sub(r"\w+", lambda word: ENGLISH_OF.get(word[0].lower(), word[0]), tweet.text)
    return Tweet(text, "en", tweet.is_retweet)


def moods(tweet: Tweet) -> Iterator[Mood]:
    """One mood for each currency that a post mentions."""
    words = set(re.findall(r"\w+", tweet.text.lower()))
    score = len(words & GOOD) - len(words & BAD)
    for currency in CURRENCIES:
        if currency in words:
            yield Mood(currency, score)


def build() -> Topology:
    builder = StreamsBuilder()
    tweets = builder.stream("raw-tweets", value=Tweet).filter_not(lambda _, t: t.is_retweet)
    languages = (
        tweets.split(name="language-")
        .branch(lambda _, tweet: tweet.language == "en", name="en")
        .branch(lambda _, tweet: tweet.language == "de", name="de")
        .no_default_branch()
    )
    (
        languages["language-en"]
        .merge(languages["language-de"].map_values(translate))
        .flat_map_values(moods)
        .group_by(lambda _, mood: mood.currency, value=Mood)
        .aggregate(
            Sentiment,
            lambda _, mood, sentiment: sentiment.add(mood),
            "sentiment-store",
            value=Sentiment,
        )
        .to_stream()
        .to("crypto-sentiment")
    )
    return builder.build()


def show(streams: KafkaStreams) -> None:
    for currency, found in sorted(streams.store("sentiment-store").all()):
        print(f"{currency:10} +{found.positive} -{found.negative} ={found.neutral}")
