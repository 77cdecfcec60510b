"""What a user installs: the wheels of `make dist`, in an empty environment outside the checkout."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from bythebook import __version__
from bythebook.settings import Settings
from examples.example_files import PINNED, open_routes
from extent import FULL, PATIENCE
from install.dockerfile import ROOT, copy_context, moved, stages
from reading.made_files import Printed
from shared_server import free_port

# One worker has the environment; what is measured here is whether it works, not how fast.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("install")]
BUILD, IMAGE = stages()
OWN_VARIABLES = {str(field.validation_alias) for field in Settings.model_fields.values()}
PRESSES = {
    "Screw presses": "A screw press squeezes the oil out of the olives. It was invented in the "
    "first century and replaced the beam press, because it is smaller and needs fewer hands. Two "
    "people turn the screw with a bar, wait until the oil has run off, and turn it again. The "
    "mash lies between round mats of rope, which keep it in place and let the oil through. A "
    "stack of twenty mats is pressed for about an hour. The screw is cut from walnut or pear, "
    "woods that do not split, and it is greased with tallow before each season so that the "
    "thread does not wear.",
    "Beam presses": "A beam press is a lever. Its beam is the trunk of an oak, ten metres long, "
    "whose thick end sits in a niche of the wall. From the thin end hangs a stone of two tons. A "
    "winch lifts the stone, and its weight pulls the beam down on the stack of mats. Such a press "
    "fills a whole building, and its beam has to be renewed every thirty years. Where large oaks "
    "became rare the press was given up. Some mills kept one for the last pressing of the year, "
    "which gives oil for lamps and soap but none for the table.",
    "Settling": "What runs off the press is oil and water together. It is led into a basin, where "
    "the oil rises within a day. A shallow ladle takes it off the water, and it is poured into a "
    "second basin to settle again. After the third basin the oil is clear. Jars for it are lined "
    "with wax, closed with a wooden lid and kept in a cellar, away from light. Good oil keeps for "
    "two years there. The dark water that is left kills weeds, and farmers carry it to the paths "
    "between their terraces in early spring.",
}
KILNS = {
    "Lime kilns": "A lime kiln burns limestone at 900 degrees Celsius. What is left is quicklime, "
    "which must be kept dry, because water turns it into slaked lime with great heat. The kiln is "
    "a shaft of stone, built into a slope so that carts can reach the top. Limestone and charcoal "
    "are laid in by turns, a hand of charcoal to two hands of stone. The fire is lit below and "
    "climbs through the shaft for three days. After that the lime is raked out at the foot, while "
    "new layers are put in at the top.",
    "Brick kilns": "A brick kiln is a chamber with a grate for its floor. The bricks have dried in "
    "the air for two weeks before they go in, or they would burst. They are set on edge, a finger "
    "apart, so that the smoke can pass between them. The fire begins small, to drive out the last "
    "water, and grows for two days until the bricks glow orange. Then all openings are walled up. "
    "The chamber cools for a week. Bricks near the fire are hard and dark and go into the "
    "foundations; those from the corners are soft and are ground to powder.",
    "Charcoal": "Charcoal is made in a mound. Split logs stand around a shaft, covered with leaves "
    "and then with earth, so that hardly any air gets in. The burner lights the shaft, closes it, "
    "and makes small holes in the cover from the top to the foot over ten days. White smoke means "
    "that the wood still gives off water, blue smoke that it has turned to charcoal. Whoever "
    "opens the mound too early loses all of it to the flames. A good mound gives one part of "
    "charcoal from four parts of wood by weight.",
}


@dataclass(frozen=True)
class Installed:
    """An environment, and a folder of a user who knows nothing of the checkout."""

    place: Path
    folder: Path

    def variables(self, **more: str) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in OWN_VARIABLES
            and not name.startswith(("BYTHEBOOK_", "OPENAI_", "PYTHON", "XDG_", "VIRTUAL_ENV"))
        }
        path = f"{self.place / 'bin'}{os.pathsep}{kept['PATH']}"
        return {**kept, "PATH": path, "HOME": str(self.folder), **more}

    def run(self, *command: str, **variables: str) -> str:
        return ran([*command], self.folder, self.variables(**variables))


def ran(command: list[str], folder: Path, environment: Mapping[str, str]) -> str:
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def pip_variables() -> dict[str, str]:
    """The settings of pip are the person's, but for the pinned versions."""
    pinned = {"PIP_CONSTRAINT": str(ROOT / "constraints.txt")}
    # Most modules are never imported here, and the others get compiled then.
    return {**os.environ, **pinned, "PIP_NO_COMPILE": "1"}


def step(text: str, places: Mapping[str, Path], folder: Path) -> None:
    """A RUN line of the Dockerfile, by this Python."""
    text = re.sub(r"\bpython -m", f"{sys.executable} -m", moved(text, places))
    ran(["sh", "-ec", text], folder, pip_variables())


def install(place: Path, wheels: Path, folder: Path) -> None:
    """By the step of the Dockerfile that installs the wheels. In `make test` what they need comes
    from the environment of the tests, which pip has filled from the same list."""
    places = {"/opt/bythebook": place, "/wheels": wheels}
    if FULL:
        step(BUILD.runs[-1], places, folder)
        return
    step(BUILD.runs[-1].replace(" install ", " install --no-deps "), places, folder)
    (own,) = place.glob("lib/python*/site-packages")
    # A line of a .pth file is searched last, and brings no editable install with it.
    (own / "tests.pth").write_text(sysconfig.get_path("purelib") + "\n")


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    outside = {name: value for name, value in pip_variables().items() if "MAKE" not in name}
    binaries = str(Path(sys.executable).parent)
    make = ["make", "dist", f"DIST={folder}", f"BIN={binaries}", "-o", "install-dev"]
    ran(make, ROOT, outside)
    return folder


@pytest.fixture(scope="session")
def installed(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """By the step of the Dockerfile that installs the wheels."""
    place = tmp_path_factory.mktemp("environment") / "bythebook"
    folder = tmp_path_factory.mktemp("user")
    install(place, wheels, folder)
    pdf = Printed(title="Presses")
    pdf.add_page()
    for heading, text in PRESSES.items():
        pdf.heading(heading)
        pdf.text_block(text)
    (folder / "presses.pdf").write_bytes(pdf.data())
    parts = [f"{heading}\n{'-' * len(heading)}\n\n{text}\n" for heading, text in KILNS.items()]
    (folder / "kilns").mkdir()
    book = "\n".join(["Kilns\n=====\n", *parts])
    (folder / "kilns" / "index.rst").write_text(book, encoding="utf-8")
    return Installed(place, folder)


@contextmanager
def started(installed: Installed, command: list[str], **variables: str) -> Iterator[str]:
    """The service, once it listens; what it printed on stdout until then."""
    out, log = installed.folder / "service.out", installed.folder / "service.log"
    with out.open("w") as stdout, log.open("w") as stderr:
        process = subprocess.Popen(
            command,
            cwd=installed.folder,
            env=installed.variables(**variables),
            stdout=stdout,
            stderr=stderr,
        )
    try:
        until = time.monotonic() + PATIENCE
        while "listens on" not in log.read_text():
            assert process.poll() is None and time.monotonic() < until, log.read_text()
            time.sleep(0.1)
        yield out.read_text()
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0, log.read_text()
    finally:
        process.kill()
        process.wait()


def asked_over_http(port: str, question: str, book: str, key: str = "") -> str:
    with httpx.Client(timeout=PATIENCE, trust_env=False) as client:
        answer = client.post(
            f"http://127.0.0.1:{port}/chat/run",
            json={"message": question, "book_id": book},
            headers={"X-API-Key": key} if key else {},
        )
    assert answer.status_code == 200, answer.text
    return str(answer.json()["response"])


def test_a_user_without_the_checkout(installed: Installed) -> None:
    where = installed.run("python", "-c", "import bythebook; print(bythebook.__file__)")
    assert Path(where.strip()).is_relative_to(installed.place)
    said = installed.run("bythebook", "demo")
    assert "action" in said and "don't have information" in said
    installed.run("bythebook", "ingest", "presses.pdf")
    installed.run("bythebook", "ingest", "kilns")
    for question, book, fact in (
        ("Which press did the screw press replace?", "presses", "beam press"),
        ("At how many degrees does a lime kiln burn limestone?", "kilns", "900 degrees"),
    ):
        answer = json.loads(installed.run("bythebook", "ask", question, "--book", book, "--json"))
        assert not answer["refused"] and fact in answer["response"]
        assert answer["citations"]
    port = str(free_port())
    with started(installed, ["bythebook", "serve", "--port", port]):
        assert "quicklime" in asked_over_http(port, "What does a lime kiln leave?", "kilns")


def test_as_a_container_starts_it(installed: Installed) -> None:
    """Home, address and first key as in the image; who looks after it runs its health check."""
    home, port = installed.folder / "data", str(free_port())
    installed.run("bythebook", "ingest", "kilns", BYTHEBOOK_HOME=str(home))
    given = {
        name: moved(value, {IMAGE.volumes[0]: home})
        for name, value in IMAGE.environment.items()
        if name != "PATH"
    }
    assert given["BYTHEBOOK_HOME"] == str(home)
    given |= {"BYTHEBOOK_PORT": port}
    with started(installed, IMAGE.command, **given) as key:
        installed.run(*IMAGE.probe, **given)
        question = "What does a lime kiln leave?"
        assert "quicklime" in asked_over_http(port, question, "kilns", key.strip())
        with httpx.Client(trust_env=False) as client:
            body = {"message": question}
            assert client.post(f"http://127.0.0.1:{port}/chat/run", json=body).status_code == 401
    with started(installed, IMAGE.command, **given) as key:
        assert key == ""
    dead = subprocess.run(
        IMAGE.probe,
        env=installed.variables(**given),
        cwd=installed.folder,
        capture_output=True,
        timeout=PATIENCE,
    )
    assert dead.returncode != 0


def test_the_image_holds_the_same_wheel(wheels: Path, tmp_path: Path) -> None:
    """Docker builds it from what .dockerignore lets through, `make dist` from the sdist."""
    source, built = tmp_path / "source", tmp_path / "wheels"
    copy_context(BUILD, source)
    _reader, ours, _install = BUILD.runs
    step(ours, {"/wheels": built}, source)
    (wheel,) = built.iterdir()
    assert record(wheel) == record(wheels / wheel.name)


def record(wheel: Path) -> set[str]:
    """Names and hashes of what it holds; the metadata say who built it."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/RECORD"))
        lines = archive.read(name).decode().splitlines()
    return {line for line in lines if ".dist-info/" not in line}


def test_the_image_is_pinned_watched_and_not_run_by_root() -> None:
    assert [stage.image for stage in (BUILD, IMAGE) if not PINNED.fullmatch(stage.image)] == []
    assert IMAGE.user not in ("root", "0")
    assert set(IMAGE.environment) - {"PATH", "PYTHONUNBUFFERED"} <= OWN_VARIABLES
    (path,) = re.findall(r"'GET', '(/\w+)'", " ".join(IMAGE.probe))
    assert path in open_routes()
    head = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()[0]
    assert head == f"# docker build -t bythebook:{__version__} ."
