"""Formulas as people read them: LaTeX for documents, and MathML, which browsers draw without any script.

Names lose their underscores and fractions need no brackets; nothing else changes, so what is shown is what is computed.
"""

from __future__ import annotations

from html import escape

from roi.symbols import Call, Constant, Symbol, Writer


class _Typeset(Writer):
    """What both have in common: a fraction holds its parts together, so brackets around it and inside it are not needed."""

    def infix(self, call: Call) -> str:
        left, right = call.arguments
        if call.operator == "/":
            return self.fraction(self.write(left), self.write(right))
        if call.operator == "**":
            return self.power(self.operand(left, "**", brackets_when_equal=True), self.write(right))
        return super().infix(call)

    def operand(self, symbol: Symbol, outer: str, brackets_when_equal: bool) -> str:
        if isinstance(symbol, Call) and symbol.operator == "/" and outer != "**":
            return self.write(symbol)
        return super().operand(symbol, outer, brackets_when_equal)

    def name(self, name: str) -> str:
        return self.words(name.replace("_", " "))

    def constant(self, constant: Constant) -> str:
        return self.words(constant.name.replace("_", " "))

    def words(self, text: str) -> str:
        raise NotImplementedError

    def fraction(self, above: str, below: str) -> str:
        raise NotImplementedError

    def power(self, base: str, exponent: str) -> str:
        raise NotImplementedError


class Latex(_Typeset):
    """LaTeX, to stand between dollar signs."""

    operators = {"*": r" \cdot ", "<=": r" \le ", ">=": r" \ge "}  # noqa: RUF012
    names = {"total": r"\sum ", "lowest": r"\min ", "highest": r"\max ", "running": r"\text{running sum of }"}  # noqa: RUF012

    def words(self, text: str) -> str:
        return rf"\text{{{text}}}"

    def number(self, value: float) -> str:
        return f"{value:g}"

    def fraction(self, above: str, below: str) -> str:
        return rf"\frac{{{above}}}{{{below}}}"

    def power(self, base: str, exponent: str) -> str:
        return f"{base}^{{{exponent}}}"

    def bracketed(self, text: str) -> str:
        return rf"\left({text}\right)"

    def operator(self, operator: str) -> str:
        return self.operators.get(operator, f" {operator} ")

    def function(self, name: str, arguments: list[str]) -> str:
        if name == "where":
            condition, then, otherwise = arguments
            return rf"\begin{{cases}} {then} & \text{{if }} {condition} \\ {otherwise} & \text{{otherwise}} \end{{cases}}"
        if name in self.names:
            return self.names[name] + arguments[0]
        return rf"\{name[:3]}\left({', '.join(arguments)}\right)"


class MathML(_Typeset):
    """The inside of a `<math>` element."""

    operators = {"*": "&#8901;", "-": "&#8722;", "<=": "&#8804;", ">=": "&#8805;", "<": "&lt;", ">": "&gt;"}  # noqa: RUF012
    names = {"total": "&#8721;", "lowest": "min", "highest": "max", "running": "running &#8721;"}  # noqa: RUF012

    def words(self, text: str) -> str:
        return f"<mtext>{escape(text)}</mtext>"

    def number(self, value: float) -> str:
        return f"<mn>{value:g}</mn>"

    def fraction(self, above: str, below: str) -> str:
        return f"<mfrac><mrow>{above}</mrow><mrow>{below}</mrow></mfrac>"

    def power(self, base: str, exponent: str) -> str:
        return f"<msup><mrow>{base}</mrow><mrow>{exponent}</mrow></msup>"

    def bracketed(self, text: str) -> str:
        return f"<mrow><mo>(</mo>{text}<mo>)</mo></mrow>"

    def operator(self, operator: str) -> str:
        return f"<mo>{self.operators.get(operator, operator)}</mo>"

    def function(self, name: str, arguments: list[str]) -> str:
        if name == "where":
            condition, then, otherwise = arguments
            rows = (
                f"<mtr><mtd>{then}</mtd><mtd><mtext>if&#160;</mtext>{condition}</mtd></mtr>"
                f"<mtr><mtd>{otherwise}</mtd><mtd><mtext>otherwise</mtext></mtd></mtr>"
            )
            return f"<mtable>{rows}</mtable>"
        if name in self.names:
            return f"<mrow><mtext>{self.names[name]}&#160;</mtext>{arguments[0]}</mrow>"
        return f"<mrow><mi>{name[:3]}</mi>{self.bracketed('<mo>,</mo>'.join(arguments))}</mrow>"


def latex(formula: Symbol) -> str:
    """A formula in LaTeX.

    >>> from roi.payback import release_gain
    >>> from roi.symbols import Name
    >>> print(latex(release_gain(Name("release_days_saved"), Name("value_per_release_day"))))
    \\text{release days saved} \\cdot \\text{value per release day}
    """
    return Latex().write(formula)


def mathml(formula: Symbol) -> str:
    """A formula as a `<math>` element."""
    return f'<math displaystyle="true">{MathML().write(formula)}</math>'
