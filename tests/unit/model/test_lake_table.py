"""Names of tables in a lakehouse."""

import pytest

from penstock.errors import InvalidArgumentError
from penstock.model.lake_table import DeltaName, IcebergName, lake_table


@pytest.mark.parametrize(
    "text", ["delta:/lake/orders", "delta:/lake/orders/", "delta:file:///lake/orders"]
)
def test_a_folder_has_one_name(text: str) -> None:
    assert lake_table(text) == DeltaName("/lake/orders")
    assert str(lake_table(text)) == "delta:/lake/orders"


@pytest.mark.parametrize(
    ("text", "name", "shown"),
    [
        ("iceberg:shop.orders", ("default", "shop.orders"), "iceberg:shop.orders"),
        ("iceberg:default/shop.orders", ("default", "shop.orders"), "iceberg:shop.orders"),
        ("iceberg:main/a.b.orders", ("main", "a.b.orders"), "iceberg:main/a.b.orders"),
    ],
)
def test_a_table_of_a_catalog_has_one_name(text: str, name: tuple[str, str], shown: str) -> None:
    assert lake_table(text) == IcebergName(*name)
    assert str(lake_table(text)) == shown


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("orders", "its format and its place"),
        ("csv:/lake", "its format and its place"),
        ("delta:", "its format and its place"),
        ("delta:lake", "a whole path"),
        ("delta:/", "a whole path"),
        ("delta:s3://bucket/orders", "an object store"),
        ("iceberg:/lake/orders", "namespace.table"),
        ("iceberg:orders", "namespace.table"),
        (5, "text"),
    ],
)
def test_what_cannot_be_written_is_refused_with_the_reason(text: object, why: str) -> None:
    with pytest.raises(InvalidArgumentError, match=why) as caught:
        lake_table(text, "app.py:7")
    assert (caught.value.code, caught.value.at) == ("bad-lake-table", "app.py:7")
