"""What axe-core finds wrong with a page as it is now."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.async_api import Page

GRAVE = ("serious", "critical")
RUN = """async () => {
  const found = await axe.run(document, { resultTypes: ["violations"] });
  return found.violations.map(({ id, impact, nodes }) => ({
    id, impact, nodes: nodes.map(({ html, failureSummary }) => `${html}: ${failureSummary}`),
  }));
}"""


async def grave_findings(page: Page) -> list[dict[str, Any]]:
    await page.evaluate(AXE_SCRIPT)
    found: list[dict[str, Any]] = await page.evaluate(RUN)
    return [finding for finding in found if finding["impact"] in GRAVE]
