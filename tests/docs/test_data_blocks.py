"""Every block of JSON, YAML and properties on a page can be read."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.docs.pages import Block, blocks, blocks_of, pages

JSON = [block for each in blocks("json").values() for block in each if block.is_run]
PROPERTIES = [block for each in blocks("properties").values() for block in each]
YAML = [block for each in blocks("yaml").values() for block in each if block.is_run]


@pytest.mark.parametrize("block", JSON, ids=lambda block: block.place)
def test_json_can_be_read(block: Block) -> None:
    """A block is one value, or one value on each line."""
    try:
        json.loads(block.text)
    except json.JSONDecodeError:
        assert [json.loads(line) for line in block.text.splitlines() if line]


@pytest.mark.parametrize("block", YAML, ids=lambda block: block.place)
def test_yaml_can_be_read(block: Block) -> None:
    """What a reader copies into a file is a mapping."""
    assert isinstance(yaml.safe_load(block.text), dict)


@pytest.mark.parametrize("block", PROPERTIES, ids=lambda block: block.place)
def test_properties_can_be_read(block: Block) -> None:
    """Each line is a comment or a name with its value."""
    lines = [line for line in block.text.splitlines() if line and not line.startswith("#")]
    assert [line for line in lines if "=" not in line] == []


def test_blocks_of_other_languages_are_known() -> None:
    """A language that no test looks at would be a block that nobody has tried."""
    known = {"python", "sql", "sh", "json", "yaml", "properties", "text"}
    assert {name for name in languages() if name not in known} == set()


def languages() -> set[str]:
    return {block.language for page in pages() for block in blocks_of(page)}
