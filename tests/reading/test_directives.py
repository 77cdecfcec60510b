"""MyST's directives and roles and Hugo's shortcodes: a reader sees what they hold."""

from __future__ import annotations

import pytest

from reading.reading_tools import read_text


def shown(text: str) -> str:
    page = read_text(f"# Title\n\nSome words before.\n\n{text}\n\nSome words behind.\n")
    (only,) = page.texts
    body = only.removeprefix("# Title").strip().removeprefix("Some words before.")
    return body.removesuffix("Some words behind.").strip()


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("```{note}\nWatch `x`.\n```", "Watch `x`."),
        ("```{admonition} What you need\n:class: hint\nA pen.\n```", "What you need\nA pen."),
        ("````{tip}\n```python\nf = {'<a>': 1}\n```\n````", "```python\nf = {'<a>': 1}\n```"),
        ("```{code-block} python\n:linenos:\nprint(1)\n```", "```python\nprint(1)\n```"),
        ("```{toctree}\na\nb\n```", ""),
        (":::{warning}\nHot.\n:::", "Hot."),
        ("::::{tab-set}\n:::{tab-item} Linux\nRun it.\n:::\n::::", "Linux\nRun it."),
        ("See {ref}`this part <label>`.", "See this part."),
        ("Call {py:meth}`~Tree.map`.", "Call `Tree.map`."),
        ("A {term}`node` runs.", "A node runs."),
        ('A {{< glossary_tooltip text="Pod" term_id="pod" >}} runs.', "A Pod runs."),
        ("{{< note >}}\nCareful.\n{{< /note >}}", "Careful."),
        ('{{% tab name="Linux" %}}\nRun it.\n{{% /tab %}}', "Linux\nRun it."),
        ('### {{% heading "prerequisites" %}}\n\nA pen.', "### prerequisites\n\nA pen."),
        ('{{< figure src="a.png"\n  alt="x" >}}', ""),
    ],
)
def test_orders_are_not_shown(written: str, read: str) -> None:
    assert shown(written) == read


@pytest.mark.parametrize(
    "written",
    [
        "```jinja\n{{< note >}} {ref}`x`\n```",
        "A set {a} and a `{b}` stay.",
        ":::note\nDocusaurus' own.\n:::",
    ],
)
def test_other_braces_stay(written: str) -> None:
    assert shown(written) == written
