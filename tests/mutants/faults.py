"""Finds the places of a module where a single fault can be planted, and plants one."""

from __future__ import annotations

import ast
import copy
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import pairwise

#: Each comparison with what it is mistaken for.
_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
#: What calls of these names do is read by people, not by programs.
_LOGS = {"log", "logger", "warnings"}
#: Keyword arguments that only check what is passed.
_CHECKS = {"strict"}


@dataclass(frozen=True)
class Fault:
    """One change of one place in a module."""

    module: str
    function: str
    kind: str
    #: The first source line of the place, without its indentation.
    line: str
    change: str
    #: The outermost function, as Python names it; empty outside of functions.
    outermost: str = field(compare=False)
    number: int = field(compare=False)
    start: int = field(compare=False)
    end: int = field(compare=False)
    replacement: str = field(compare=False)

    @property
    def id(self) -> tuple[str, str, str, str, str]:
        """What stays the same while the module changes elsewhere."""
        return self.module, self.function, self.kind, self.line, self.change

    def planted_in(self, source: str) -> str:
        """Return the module's source with this fault in it."""
        data = source.encode()
        return (data[: self.start] + self.replacement.encode() + data[self.end :]).decode()


def find_faults(source: str, module: str) -> list[Fault]:
    """Return every fault that can be planted in a module, in the order of the source."""
    finder = _Finder(source, module)
    finder.visit(ast.parse(source))
    unique = {(each.start, each.end, each.replacement): each for each in finder.found}
    return sorted(unique.values(), key=lambda each: (each.start, each.end, each.replacement))


class _Finder(ast.NodeVisitor):
    """Walks through a module. Annotations, decorators, texts, logs and assertions stay whole."""

    def __init__(self, source: str, module: str) -> None:
        self.found: list[Fault] = []
        self._module = module
        self._data = source.encode()
        self._starts = [0]
        for line in self._data.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._names: list[str] = []
        self._outermost = ""

    # Places

    def _add(self, kind: str, node: ast.expr | ast.stmt, replacement: str) -> None:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self._starts[node.lineno - 1] + node.col_offset
        end = self._starts[node.end_lineno - 1] + node.end_col_offset
        first = self._starts[bisect_right(self._starts, start) - 1]
        line = self._data[first:].split(b"\n", 1)[0].decode().strip()
        before = " ".join(self._data[start:end].decode().split())
        self.found.append(
            Fault(
                self._module, ".".join(self._names), kind, line,
                f"{_short(before)} -> {_short(' '.join(replacement.split()))}",
                self._outermost, node.lineno, start, end, replacement,
            )
        )  # fmt: skip

    def _replace(self, kind: str, old: ast.expr, new: ast.expr) -> None:
        self._add(kind, old, f"({ast.unparse(ast.fix_missing_locations(new))})")

    # Definitions

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._names.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self._names.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for default in [*node.args.defaults, *node.args.kw_defaults]:
            if default is not None:
                self.visit(default)
        outermost = self._outermost
        self._outermost = outermost or ".".join([*self._names, node.name])
        self._names.append(node.name)
        for statement in node.body:
            self.visit(statement)
        body = [each for each in node.body if not _is_text(each)]
        for before, statement in pairwise(body):
            if not isinstance(before, ast.Return | ast.Raise | ast.FunctionDef):
                self._add("early return", statement, "return None")
        self._names.pop()
        self._outermost = outermost

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 - the name that ast asks for

    # Statements

    def visit_Expr(self, node: ast.Expr) -> None:
        if _is_text(node) or _is_log(node.value):
            return
        self._add("removed statement", node, "pass")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if not any(isinstance(target, ast.Name | ast.Tuple) for target in node.targets):
            self._add("removed statement", node, "pass")
        self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._add("removed statement", node, "pass")
        other = _ARITHMETIC.get(type(node.op))
        if other is not None:
            changed = ast.AugAssign(node.target, other(), node.value)
            self._add("arithmetic", node, ast.unparse(ast.fix_missing_locations(changed)))
        self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Delete(self, node: ast.Delete) -> None:
        self._add("removed statement", node, "pass")

    def visit_Raise(self, node: ast.Raise) -> None:
        self._add("removed statement", node, "pass")

    def visit_Continue(self, node: ast.Continue) -> None:
        self._add("early return", node, "break")
        self._add("removed statement", node, "pass")

    def visit_Break(self, node: ast.Break) -> None:
        self._add("removed statement", node, "pass")

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            if not (isinstance(node.value, ast.Constant) and node.value.value is None):
                self._add("early return", node, "return None")
            self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self._negate(node.test)
            self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> None:
        pass

    # Expressions

    def _negate(self, test: ast.expr) -> None:
        # The others have a fault that says the same.
        if not isinstance(test, ast.Compare | ast.UnaryOp):
            self._replace("not", test, ast.UnaryOp(ast.Not(), test))

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._negate(test)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for at, operator in enumerate(node.ops):
            for other in _COMPARISONS[type(operator)]:
                changed = copy.copy(node)
                changed.ops = [*node.ops[:at], other(), *node.ops[at + 1 :]]
                self._replace("comparison", node, changed)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        self._replace("boolean operator", node, ast.BoolOp(other, node.values))
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        other = _ARITHMETIC.get(type(node.op))
        is_text = any(isinstance(side, ast.JoinedStr) for side in (node.left, node.right))
        if other is not None and not is_text:
            self._replace("arithmetic", node, ast.BinOp(node.left, other(), node.right))
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self._replace("not", node, node.operand)
        elif isinstance(node.op, ast.USub):
            self._replace("arithmetic", node, node.operand)
        self.generic_visit(node)

    def visit_Slice(self, node: ast.Slice) -> None:
        for bound in (node.lower, node.upper):
            if bound is not None and not isinstance(bound, ast.Constant):
                self._replace("off by one", bound, _plus_one(bound))
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id == "range":
            for bound in node.args[:2]:
                if not isinstance(bound, ast.Constant):
                    self._replace("off by one", bound, _plus_one(bound))
        self.visit(node.func)
        for argument in node.args:
            self.visit(argument)
        for keyword in node.keywords:
            if keyword.arg not in _CHECKS:
                self.visit(keyword.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._add("constant", node, str(not node.value))
        elif isinstance(node.value, int | float):
            self._add("constant", node, repr(node.value + 1))
            if node.value:
                self._add("constant", node, f"({node.value - 1!r})")

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        pass


def _plus_one(bound: ast.expr) -> ast.expr:
    return ast.BinOp(bound, ast.Add(), ast.Constant(1))


def _is_text(statement: ast.stmt) -> bool:
    """Whether a statement is a docstring or ``...``."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_log(value: ast.expr) -> bool:
    function = value.func if isinstance(value, ast.Call) else None
    owner = function.value if isinstance(function, ast.Attribute) else None
    return isinstance(owner, ast.Name) and owner.id in _LOGS


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
