"""EX-01: crypto sentiment."""

from examples.crypto_sentiment.app import Sentiment, Tweet, build, translate
from tests.examples.play import played


def test_moods_are_counted_per_currency() -> None:
    """Retweets and languages that nobody here reads are left out."""
    with played("crypto_sentiment", build()) as driver:
        assert driver.read_map("crypto-sentiment") == {
            "bitcoin": Sentiment(positive=1, negative=1, neutral=1),
            "ethereum": Sentiment(positive=2, neutral=1),
            "solana": Sentiment(negative=1),
        }


def test_german_posts_are_translated_word_by_word() -> None:
    """Words that the translator does not know stay."""
    assert translate(Tweet("Solana steigt!", "de")) == Tweet("Solana rising!", "en")


def test_counting_takes_a_second_sub_topology() -> None:
    """The currency is not the key of the posts."""
    assert str(build().describe()).count("Sub-topology:") == 2
