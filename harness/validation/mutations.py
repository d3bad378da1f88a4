"""First-order mutations: for a piece of a syntax tree, the pieces that could stand in its place after one slip."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

import libcst as cst

BINARY: dict[type[cst.CSTNode], type[cst.CSTNode]] = {
    cst.Add: cst.Subtract,
    cst.Subtract: cst.Add,
    cst.Multiply: cst.Divide,
    cst.Divide: cst.Multiply,
    cst.FloorDivide: cst.Modulo,
    cst.Modulo: cst.FloorDivide,
    cst.Power: cst.Multiply,
    cst.MatrixMultiply: cst.Multiply,
    cst.BitAnd: cst.BitOr,
    cst.BitOr: cst.BitAnd,
    cst.And: cst.Or,
    cst.Or: cst.And,
    cst.AddAssign: cst.SubtractAssign,
    cst.SubtractAssign: cst.AddAssign,
    cst.MultiplyAssign: cst.DivideAssign,
    cst.DivideAssign: cst.MultiplyAssign,
}
"""The operator that stands in the place of another one, also in augmented assignments."""

COMPARISONS: dict[type[cst.CSTNode], tuple[type[cst.BaseCompOp], ...]] = {
    cst.LessThan: (cst.LessThanEqual, cst.GreaterThanEqual),
    cst.LessThanEqual: (cst.LessThan, cst.GreaterThan),
    cst.GreaterThan: (cst.GreaterThanEqual, cst.LessThanEqual),
    cst.GreaterThanEqual: (cst.GreaterThan, cst.LessThan),
    cst.Equal: (cst.NotEqual,),
    cst.NotEqual: (cst.Equal,),
    cst.In: (cst.NotIn,),
    cst.NotIn: (cst.In,),
    cst.Is: (cst.IsNot,),
    cst.IsNot: (cst.Is,),
}
"""The boundary moved, and the opposite."""

_PAIRS = ("min max", "minimum maximum", "argmin argmax", "any all", "sum mean", "zeros ones", "log log1p", "exp expm1")
FUNCTIONS = {a: b for pair in _PAIRS for a, b in (pair.split(), reversed(pair.split()))}
"""The function or method that stands in the place of another one."""

SYMMETRIC = {"min", "max", "minimum", "maximum", "logaddexp", "union1d"}
"""Functions to which the order of arguments makes no difference."""

CONVERSIONS = {"float", "bool"}
"""Calls that change the type of a number and no value: what a function returns may be a NumPy scalar."""


def name_of(function: cst.BaseExpression) -> str:
    """The last part of the name of what is called: `solve` of `np.linalg.solve`."""
    if isinstance(function, cst.Attribute):
        return function.attr.value
    return function.value if isinstance(function, cst.Name) else ""


def mutations(node: cst.CSTNode, modules: set[str]) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    """Pairs of `node`, or its condition, and what could stand there one slip away; slips of its parts are theirs.

    modules: names that are bound to imported modules, so that `np.abs(x)` is no method of `np`.
    """
    if isinstance(node, cst.If | cst.While | cst.IfExp | cst.CompIf):
        opposite_follows = isinstance(node.test, cst.UnaryOperation) or (
            isinstance(node.test, cst.Comparison) and len(node.test.comparisons) == 1
        )
        if not opposite_follows:
            yield node.test, cst.UnaryOperation(cst.Not(), _in_brackets(node.test))
    yield from ((node, other) for other in _others(node, modules))


def _others(node: cst.CSTNode, modules: set[str]) -> Iterator[cst.CSTNode]:
    match node:
        case cst.BinaryOperation(left, operator, right):
            yield from (node.with_changes(operator=new) for new in _instead(operator))
            ordered = (cst.Subtract, cst.Divide, cst.FloorDivide, cst.Modulo, cst.Power)
            if isinstance(operator, ordered) and not left.deep_equals(right):
                yield node.with_changes(left=_in_brackets(right), right=_in_brackets(left))
        case cst.BooleanOperation() | cst.AugAssign():
            yield from (node.with_changes(operator=new) for new in _instead(node.operator))
        case cst.Comparison(comparisons=parts):
            for index, part in enumerate(parts):
                for kind in COMPARISONS[type(part.operator)]:
                    changed = part.with_changes(operator=kind())
                    yield node.with_changes(comparisons=[*parts[:index], changed, *parts[index + 1 :]])
        case cst.UnaryOperation(operator=cst.Minus() | cst.Not() | cst.BitInvert(), expression=inner):
            yield _in_brackets(inner)
        case cst.Arg(keyword=cst.Name("axis" | "dim"), value=cst.Integer(("0" | "1") as axis)):
            yield node.with_changes(value=cst.Integer("1" if axis == "0" else "0"))
        case cst.Integer(value) | cst.Float(value):
            yield from _other_numbers(value)
        case cst.Name("True" | "False"):
            yield cst.Name("False" if node.value == "True" else "True")
        case cst.Call():
            yield from _other_calls(node, modules)
        case cst.Subscript(value):
            yield value
        case cst.Slice(lower, upper):
            if lower is not None and not _is_number(lower):
                yield from (node.with_changes(lower=other) for other in _one_off(lower))
            if upper is not None and not _is_number(upper):
                yield from (node.with_changes(upper=other) for other in _one_off(upper))
        case cst.Break() | cst.Continue():
            yield cst.Pass()


def _other_calls(call: cst.Call, modules: set[str]) -> Iterator[cst.CSTNode]:
    """Another function, the call dropped, an argument dropped, two arguments swapped, a range one off."""
    name, args = name_of(call.func), call.args
    if name in FUNCTIONS:
        other, plain = cst.Name(FUNCTIONS[name]), isinstance(call.func, cst.Name)
        yield call.with_changes(func=other if plain else call.func.with_changes(attr=other))
    if isinstance(call.func, cst.Attribute) and _root(call.func) not in modules:
        yield call.func.value
    elif args and not args[0].keyword and not args[0].star and name not in CONVERSIONS:
        yield _in_brackets(args[0].value)
    for index, arg in enumerate(args):
        if arg.keyword is not None:
            yield call.with_changes(args=_tidy([*args[:index], *args[index + 1 :]]))
    for index, (first, second) in enumerate(pairwise(args)):
        named = first.keyword or second.keyword or first.star or second.star
        if not (named or name in SYMMETRIC or first.value.deep_equals(second.value)):
            swapped = [first.with_changes(value=second.value), second.with_changes(value=first.value)]
            yield call.with_changes(args=[*args[:index], *swapped, *args[index + 2 :]])
    if name == "range":
        for index, arg in enumerate(args):
            for near in () if _is_number(arg.value) else _one_off(arg.value):
                yield call.with_changes(args=[*args[:index], arg.with_changes(value=near), *args[index + 1 :]])


def _instead(operator: cst.CSTNode) -> Iterator[cst.CSTNode]:
    if type(operator) in BINARY:
        yield BINARY[type(operator)]()


def _other_numbers(text: str) -> Iterator[cst.BaseExpression]:
    """One more and one less for a whole number, also if written 1.0; twice and half for any other."""
    number = float(text)
    if text.replace("_", "").isdigit():
        others: Iterable[float] = (int(number) + 1, int(number) - 1)
    else:
        others = (number + 1, number - 1) if number in (0, 1) else (number * 2, number / 2)
    yield from (cst.parse_expression(repr(other)) for other in others)


def _one_off(bound: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    for operator in (cst.Add(), cst.Subtract()):
        yield cst.BinaryOperation(_in_brackets(bound), operator, cst.Integer("1"))


def _in_brackets(node: cst.BaseExpression) -> cst.BaseExpression:
    """The expression so that it can stand anywhere."""
    if node.lpar or isinstance(node, cst.Name | cst.Attribute | cst.Call | cst.Subscript | cst.Integer | cst.Float):
        return node
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def _is_number(node: cst.BaseExpression) -> bool:
    inner = node.expression if isinstance(node, cst.UnaryOperation) else node
    return isinstance(inner, cst.Integer | cst.Float)


def _root(node: cst.BaseExpression) -> str:
    """`np` of `np.linalg.solve`; empty for anything but a dotted name."""
    while isinstance(node, cst.Attribute):
        node = node.value
    return node.value if isinstance(node, cst.Name) else ""


def _tidy(args: list[cst.Arg]) -> list[cst.Arg]:
    """The arguments without a comma after the last."""
    return [*args[:-1], args[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)] if args else args
