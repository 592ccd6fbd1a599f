"""Message classes as ``protoc`` generates them: descriptors in the default pool of the process."""

from base64 import b64decode
from typing import Any

from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message_factory import GetMessageClass

from penstock.formats.protobuf.protobuf_file import encoded

_LINE = """
syntax = "proto3";
package penstock.test;
message Line { string sku = 1; int32 pieces = 2; }
"""
_ORDER = """
syntax = "proto3";
package penstock.test;
import "penstock_test_line.proto";
import "google/protobuf/timestamp.proto";
message Unused { bool no = 1; }
message Order {
  int64 id = 1;
  repeated Line lines = 2;
  google.protobuf.Timestamp at = 3;
  message Note { string text = 1; }
}
"""
_NEWER = """
syntax = "proto3";
package penstock.test.v2;
message Order { int64 id = 1; string currency = 9; }
"""


def _add(name: str, text: str, imports: dict[str, str]) -> None:
    file = FileDescriptorProto.FromString(b64decode(encoded(text, imports)))
    file.name = name
    descriptor_pool.Default().AddSerializedFile(file.SerializeToString())


def _class(name: str, module_name: str) -> Any:
    made = GetMessageClass(descriptor_pool.Default().FindMessageTypeByName(name))
    # Generated classes are found by their module, which is how they pickle.
    made.__module__, made.__qualname__ = __name__, module_name
    return made


_add("penstock_test_line.proto", _LINE, {})
_add("penstock_test_order.proto", _ORDER, {"penstock_test_line.proto": _LINE})
_add("penstock_test_newer.proto", _NEWER, {})

Line: Any = _class("penstock.test.Line", "Line")
Order: Any = _class("penstock.test.Order", "Order")
Note: Any = _class("penstock.test.Order.Note", "Note")
NewerOrder: Any = _class("penstock.test.v2.Order", "NewerOrder")
