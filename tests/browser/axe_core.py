"""axe-core, fetched by npm into a folder of the test, with its digest checked."""

from pathlib import Path
from typing import Final

from hatch_build import VendorFile, VendorPackage, npm_runs, pack, take

NO_NPM: Final = "axe-core is fetched by npm, and there is none; apt-get install -y npm"
NO_REGISTRY: Final = "npm reaches no registry from here; connect this machine to one"

AXE: Final = VendorPackage(
    name="axe-core",
    version="4.14.1",
    integrity=(
        "sha512-FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09"
        "a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
    ),
    files=(
        VendorFile(
            source="axe.min.js",
            path="axe.min.js",
            integrity=(
                "sha512-5j5ln5gG165b1AiZBDsIcaUGLFRCsBs/Gj7fXq9Q"
                "v1w6cQSnJGMpO0rRt3xmGg1OQOhQ3sid6dbs5wqME6mvFw=="
            ),
        ),
    ),
)


class NotHere(Exception):
    """axe-core cannot be had here; the sentence says why and what helps."""


def script(folder: Path) -> str:
    """The script. Raises NotHere, and VendorMismatch where it is another one."""
    if not npm_runs(["npm"]):
        raise NotHere(NO_NPM)
    try:
        archive = pack(AXE, folder, ["npm"])
    except RuntimeError as error:
        if "failed" not in str(error):
            raise
        raise NotHere(NO_REGISTRY) from error
    take(AXE, archive, folder)
    return (folder / "axe.min.js").read_text("utf-8")
