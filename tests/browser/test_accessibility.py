"""axe-core looks at every view and finds nothing serious.

It is fetched by npm into a folder of the test, with its digest checked; without npm, or without
a registry that npm reaches, these tests are skipped.
"""

from pathlib import Path
from typing import Any, Final

import pytest

from hatch_build import VendorFile, VendorPackage, npm_runs, pack, take
from tests.browser.screens import Screen, Visit
from tests.browser.views import strangers_view, walk

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(120)]

AXE: Final = VendorPackage(
    name="axe-core",
    version="4.14.1",
    integrity=(
        "sha512-FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
    ),
    files=(
        VendorFile(
            source="axe.min.js",
            path="axe.min.js",
            integrity=(
                "sha512-5j5ln5gG165b1AiZBDsIcaUGLFRCsBs/Gj7fXq9Qv1w6cQSnJGMpO0rRt3xmGg1OQOhQ3sid6dbs5wqME6mvFw=="
            ),
        ),
    ),
)

_RUN: Final = """
async () => {
  const report = await axe.run(document, { resultTypes: ["violations"] });
  const isSerious = ({ impact }) => impact === "serious" || impact === "critical";
  const why = (node) => node.any.map((check) => check.message).join("; ");
  const told = ({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.html.slice(0, 160)} ${why(node)}`);
  return {
    passed: report.passes.length,
    found: report.violations.filter(isSerious).flatMap(told),
  };
}
"""


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script of axe-core."""
    if not npm_runs(["npm"]):
        pytest.skip("axe-core is fetched by npm, and there is none; apt-get install -y npm")
    folder: Path = tmp_path_factory.mktemp("axe")
    try:
        archive = pack(AXE, folder, ["npm"])
    except RuntimeError as error:
        if "failed" not in str(error):
            raise
        pytest.skip("npm reaches no registry from here; connect this machine to one")
    take(AXE, archive, folder)
    return (folder / "axe.min.js").read_text("utf-8")


async def is_accessible(screen: Screen, view: str) -> None:
    """Nothing serious is found in what the screen shows."""
    report: dict[str, Any] = await screen.page.evaluate(_RUN)
    assert report["passed"] > 5, f"{view}: axe-core has looked at nothing"
    assert report["found"] == [], view


async def every_view_is_accessible(visit: Visit, screen: Screen, room_id: str, axe: str) -> None:
    """Walk over all views."""
    await screen.page.reload()
    await screen.page.evaluate(axe)
    async for view in walk(screen, room_id):
        await is_accessible(screen, view)
    guest = await strangers_view(visit, screen)
    await guest.page.evaluate(axe)
    await is_accessible(guest, "login")


async def test_axe_finds_nothing_serious_on_a_light_phone(
    visit: Visit, phone: Screen, lively: str, axe: str
) -> None:
    await phone.page.emulate_media(color_scheme="light")
    await every_view_is_accessible(visit, phone, lively, axe)


async def test_axe_finds_nothing_serious_on_a_dark_desk(
    visit: Visit, ann: Screen, lively: str, axe: str
) -> None:
    await ann.page.emulate_media(color_scheme="dark")
    await every_view_is_accessible(visit, ann, lively, axe)
