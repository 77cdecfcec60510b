"""The Kubernetes example names settings, routes, labels and metrics that exist, and no secret."""

from __future__ import annotations

import re
from typing import Any

import httpx

from bythebook.server.app import make_app
from bythebook.settings import Settings
from examples.example_files import (
    EXAMPLES,
    PINNED,
    SECRETS,
    SETTINGS,
    documents,
    metrics,
    open_routes,
)

FOLDER = EXAMPLES / "kubernetes"
Manifest = dict[str, Any]
ALL = {
    (each["kind"], each["metadata"]["name"]): each
    for file in sorted(FOLDER.glob("*.yaml"))
    for each in documents(f"kubernetes/{file.name}")
}
SERVICE = ALL["Deployment", "bythebook"]
PODS = [each["spec"]["template"] for (kind, _), each in ALL.items() if kind == "Deployment"]
POD = SERVICE["spec"]["template"]
(CONTAINER,) = POD["spec"]["containers"]


def matches(selector: Manifest, pod: Manifest) -> bool:
    wanted: Manifest = selector.get("matchLabels", selector)
    labels: Manifest = pod["metadata"]["labels"]
    return wanted.items() <= labels.items()


def test_there_is_all_of_it() -> None:
    assert {kind for kind, _ in ALL} == {
        "ConfigMap",
        "Deployment",
        "HorizontalPodAutoscaler",
        "NetworkPolicy",
        "PersistentVolumeClaim",
        "PodDisruptionBudget",
        "Service",
    }


def test_every_setting_exists_and_none_is_a_secret() -> None:
    given = set(ALL["ConfigMap", "bythebook"]["data"])
    assert given <= SETTINGS - SECRETS
    guide = (FOLDER / "README.md").read_text(encoding="utf-8")
    kept_apart = set(re.findall(r"--from-literal=(\w+)=", guide))
    assert kept_apart <= SECRETS
    assert {"QDRANT_URL", "DATABASE_URL", "BYTHEBOOK_REDIS_URL"} <= given | kept_apart


def test_every_image_is_pinned() -> None:
    images = [container["image"] for pod in PODS for container in pod["spec"]["containers"]]
    assert len(set(images)) == 1
    assert PINNED.fullmatch(images[0])


async def test_probes_ask_routes_and_life_rests_on_nothing_else() -> None:
    for name in ("startupProbe", "readinessProbe"):
        assert CONTAINER[name]["httpGet"]["path"] in open_routes()
    # Without database, index or embedder, the route of the liveness probe answers.
    transport = httpx.ASGITransport(make_app(Settings()))
    async with httpx.AsyncClient(transport=transport, base_url="http://10.0.0.7:8000") as probe:
        answer = await probe.get(CONTAINER["livenessProbe"]["httpGet"]["path"])
    assert answer.status_code == 200
    (port,) = CONTAINER["ports"]
    assert port["containerPort"] == int(ALL["ConfigMap", "bythebook"]["data"]["BYTHEBOOK_PORT"])
    for name in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert CONTAINER[name]["httpGet"]["port"] == port["name"]


def test_selectors_find_their_pods() -> None:
    for deployment in (each for (kind, _), each in ALL.items() if kind == "Deployment"):
        assert matches(deployment["spec"]["selector"], deployment["spec"]["template"])
    assert [
        pod for pod in PODS if matches(ALL["Service", "bythebook"]["spec"]["selector"], pod)
    ] == [POD]
    assert matches(ALL["PodDisruptionBudget", "bythebook"]["spec"]["selector"], POD)
    assert all(
        matches(ALL["NetworkPolicy", "bythebook"]["spec"]["podSelector"], pod) for pod in PODS
    )
    (port,) = ALL["Service", "bythebook"]["spec"]["ports"]
    assert port["targetPort"] == CONTAINER["ports"][0]["name"]


def test_the_autoscaler_watches_figures_that_exist() -> None:
    scaler = ALL["HorizontalPodAutoscaler", "bythebook"]["spec"]
    assert scaler["scaleTargetRef"]["name"] == SERVICE["metadata"]["name"]
    assert "replicas" not in SERVICE["spec"]
    watched = [each["pods"]["metric"]["name"] for each in scaler["metrics"] if "pods" in each]
    assert watched
    assert set(watched) <= metrics()
    assert scaler["minReplicas"] > ALL["PodDisruptionBudget", "bythebook"]["spec"]["maxUnavailable"]


def test_answers_can_finish_and_locks_are_shared() -> None:
    pause = int(CONTAINER["lifecycle"]["preStop"]["exec"]["command"][1])
    settings = ALL["ConfigMap", "bythebook"]["data"]
    answers = int(settings["BYTHEBOOK_SHUTDOWN_SECONDS"])
    assert POD["spec"]["terminationGracePeriodSeconds"] >= pause + answers + 5
    claim = ALL["PersistentVolumeClaim", "bythebook-home"]["spec"]
    assert claim["accessModes"] == ["ReadWriteMany"]
    for pod in PODS:
        (volume,) = (each for each in pod["spec"]["volumes"] if each["name"] == "home")
        assert volume["persistentVolumeClaim"]["claimName"] == "bythebook-home"
        (mount,) = (
            each for each in pod["spec"]["containers"][0]["volumeMounts"] if each["name"] == "home"
        )
        assert mount["mountPath"] == settings["BYTHEBOOK_HOME"]


def test_the_network_lets_through_what_is_used() -> None:
    policy = ALL["NetworkPolicy", "bythebook"]["spec"]
    assert {port["port"] for rule in policy["ingress"] for port in rule["ports"]} == {8000}
    outward = {port["port"] for rule in policy["egress"] for port in rule["ports"]}
    assert {6333, 5432, 6379, 53, 443} == outward
    (outside,) = (
        peer["ipBlock"] for rule in policy["egress"] for peer in rule["to"] if "ipBlock" in peer
    )
    assert "169.254.0.0/16" in outside["except"]
