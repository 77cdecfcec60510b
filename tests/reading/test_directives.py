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
        ("```{figure} a.png\n---\nwidth: 5px\nname: x\n---\nAn arm.\n```", "An arm."),
        ("```{toctree}\na\nb\n```", ""),
        ("```{code-cell} python\n:tags: [remove-cell]\nsetup()\n```", ""),
        ('```{code-cell}\n:tags: ["x", "remove_input"]\nplot()\n```', ""),
        ("```{code-cell}\n---\ntags:\n  - remove-input\n---\nplot()\n```", ""),
        ("```{code-cell}\n:tags: [hide-cell]\nlong()\n```", "```\nlong()\n```"),
        ("```{code-cell}\n---\ntags: [hide-input]\n---\nf()\n```", "```\nf()\n```"),
        ("```{code-cell}\ntags = 'remove-cell'\n```", "```\ntags = 'remove-cell'\n```"),
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


def test_an_option_over_several_lines_is_text() -> None:
    assert "I teach." in shown("```{profile} Ada\n---\nbio: |\n  I teach.\n---\n```")
