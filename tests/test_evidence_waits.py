"""Queue wait and start-up: each kind of object with an answer computed by hand, what waits still, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roi import InputError
from roi.evidence import Evidence
from roi.evidence.waits import groups, read, wilson
from tests.mutations import mutated

Make = Callable[[str | bytes], Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Writes a file, each time another one."""

    def write(content: str | bytes) -> Path:
        path = tmp_path / f"jobs-{len(list(tmp_path.iterdir()))}"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def at(seconds: int) -> str:
    """A time so many seconds after ten o'clock."""
    return f"2026-05-01T{10 + seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}Z"


def condition(kind: str, status: str, seconds: int, updated: int | None = None) -> dict[str, str]:
    found = {"type": kind, "status": status, "lastTransitionTime": at(seconds)}
    return found if updated is None else found | {"lastUpdateTime": at(updated)}


def thing(kind: str, name: str, *conditions: dict[str, str], created: int | None = 0, **status: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "team"} | ({} if created is None else {"creationTimestamp": at(created)})
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "status": {"conditions": list(conditions), **status}}


def pod(name: str, scheduled: int | None, *started: int, restarts: int = 0, created: int = 0) -> dict[str, Any]:
    conditions = [condition("PodScheduled", "False" if scheduled is None else "True", scheduled or created)]
    containers = [{"name": "c", "restartCount": restarts, "state": {"running": {"startedAt": at(each)}}} for each in started]
    return thing(
        "Pod", name, *conditions, created=created, phase="Running" if started else "Pending", containerStatuses=containers
    )


def listed(*things: dict[str, Any]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(things)})


def measures(found: Evidence) -> dict[str, float]:
    return {each.name: each.value for each in found.measures}


def fates(found: Evidence) -> dict[str, int]:
    assert sum(each.count for each in found.accounts) == found.total
    return {each.why: each.count for each in found.accounts}


def refused(*paths: Path) -> str:
    with pytest.raises(InputError) as error:
        read(paths)
    assert "\n" not in str(error.value)
    return str(error.value)


# --- one test for each kind of object ---------------------------------------------------------------------------------------


def test_pods_tell_queue_wait_and_start_up(make: Make) -> None:
    # Waits of 10, 20 and 30 s; all containers run after 5, 5 and 60 s.
    pods = [pod("a", 10, 15, 12), pod("b", 20, 25), pod("c", 30, 90)]
    found = read([make(listed(*pods))])
    assert measures(found) == pytest.approx(
        {"queue_wait_median": 20, "queue_wait_p90": 28, "queue_wait_p99": 29.8}
        | {"start_up_median": 5, "start_up_p90": 49, "start_up_p99": 58.9}
    )
    assert fates(found) == {"with queue wait and start-up": 3}


def test_a_pod_that_ended_tells_when_its_containers_started(make: Make) -> None:
    ended = pod("a", 10, 15)
    ended["status"]["containerStatuses"][0]["state"] = {"terminated": {"startedAt": at(18), "finishedAt": at(99)}}
    assert measures(read([make(listed(ended))]))["start_up_median"] == 8


def test_pods_that_wait_count_as_waiting_and_not_as_zero(make: Make) -> None:
    starting = pod("d", 40)
    found = read([make(listed(pod("a", 10, 15), pod("b", None), pod("c", None), starting))])
    assert fates(found) == {
        "with queue wait and start-up": 1,
        "with a queue wait, and not running or not saying so": 1,
        "still waiting": 2,
    }
    assert measures(found)["queue_wait_median"] == 25
    assert "2 still wait, so that the true waits are longer than these." in found.notes


def test_a_restarted_pod_does_not_know_its_first_start(make: Make) -> None:
    found = read([make(listed(pod("a", 10, 15), pod("b", 10, 5000, restarts=1)))])
    assert fates(found)["restarted, so that the first start is not known"] == 1
    assert measures(found)["start_up_p99"] == 5


def test_a_container_that_waits_is_no_start(make: Make) -> None:
    waiting = pod("a", 10, 15)
    waiting["status"]["containerStatuses"].append({"name": "d", "restartCount": 0, "state": {"waiting": {"reason": "Pulling"}}})
    assert "start_up_median" not in measures(read([make(listed(waiting))]))


def test_a_pytorchjob_with_equal_transition_times_is_timed_by_its_updates(make: Make) -> None:
    job = thing(
        "PyTorchJob",
        "a",
        condition("Created", "True", 0, 0),
        condition("Running", "False", 0, 96),
        condition("Succeeded", "True", 0, 258),
    )
    found = read([make(listed(job))])
    assert measures(found)["wait_to_run_median"] == 96
    assert "queue and start-up together" in found.notes[0]


def test_a_tfjob_is_timed_by_its_transitions(make: Make) -> None:
    job = thing("TFJob", "a", condition("Created", "True", 0, 1), condition("Running", "True", 3, 50))
    assert measures(read([make(listed(job))]))["wait_to_run_median"] == 3


def test_a_training_job_that_a_queue_held_tells_both(make: Make) -> None:
    job = thing(
        "PyTorchJob",
        "a",
        condition("Created", "True", 0),
        condition("Suspended", "False", 100),
        condition("Running", "True", 130),
    )
    found = measures(read([make(listed(job))]))
    assert (found["queue_wait_median"], found["start_up_median"]) == (100, 30)


def test_a_suspended_training_job_waits_and_a_restarting_one_is_set_aside(make: Make) -> None:
    jobs = [
        thing("PyTorchJob", "a", condition("Created", "True", 0), condition("Suspended", "True", 0)),
        thing(
            "PyTorchJob",
            "b",
            condition("Created", "True", 0),
            condition("Restarting", "True", 50),
            condition("Running", "False", 50),
        ),
        thing("PyTorchJob", "c", condition("Created", "True", 0), condition("Failed", "True", 50)),
    ]
    assert fates(read([make(listed(*jobs))])) == {
        "still waiting": 1,
        "restarted, so that the first start is not known": 1,
        "ended, and with no word of when they ran": 1,
    }


def test_a_trainjob_tells_its_queue_wait_alone(make: Make) -> None:
    found = read([make(listed(thing("TrainJob", "a", condition("Suspended", "False", 60), condition("Complete", "True", 600))))])
    assert measures(found)["queue_wait_median"] == 60
    assert "Start-up is not known" in found.notes[0]


def test_a_trainjob_without_a_status_waits(make: Make) -> None:
    text = "# as submitted\nkind: TrainJob\nmetadata: {name: a}\nspec: {suspend: true}\n---\n# no more\n"
    found = read([make(text)])
    assert fates(found) == {"still waiting": 1}
    assert found.notes == ("There is nothing to measure: nothing has started.",)
    assert not found.measures


def test_a_workload_of_kueue_tells_both_unless_it_was_evicted(make: Make) -> None:
    parts = [condition("QuotaReserved", "True", 40), condition("Admitted", "True", 50), condition("PodsReady", "True", 80)]
    again = [*parts[:2], condition("Evicted", "False", 50)]
    waiting = [condition("QuotaReserved", "False", 5), condition("PodsReady", "False", 0)]
    found = read(
        [make(listed(*(thing("Workload", name, *each) for name, each in zip("abc", (parts, again, waiting), strict=True))))]
    )
    assert (measures(found)["queue_wait_median"], measures(found)["start_up_median"]) == (50, 30)
    assert fates(found) == {
        "with queue wait and start-up": 1,
        "evicted and queued again, so that the first admission is not known": 1,
        "still waiting": 1,
    }


def test_a_table_of_pods_is_read_by_its_columns(make: Make) -> None:
    text = (
        f"NAME,CREATED,SCHEDULED,RUNNING\na,{at(0)},{at(10)},{at(15)}\nb,{at(0)},<none>,<none>\nc,{at(0)},,{at(30)}\nd,{at(0)}\n"
    )
    found = read([make(text)])
    assert found.records == "rows"
    assert measures(found)["queue_wait_median"] == 10
    assert measures(found)["wait_to_run_median"] == 30
    assert fates(found) == {
        "with queue wait and start-up": 1,
        "still waiting": 1,
        "with the time from creation to running, in one": 1,
        "that are cut off, or no objects": 1,
    }


# --- files ------------------------------------------------------------------------------------------------------------------


def test_yaml_json_lists_and_several_documents_say_the_same(make: Make) -> None:
    first, second = pod("a", 10, 15), pod("b", 20, 40)
    documents = f"{json.dumps(first)}\n---\n{json.dumps(second)}\n"
    untyped = json.dumps({"kind": "PodList", "items": [{**each, "kind": None} for each in (first, second)]}).replace(
        '"kind": null, ', ""
    )
    expected = measures(read([make(listed(first, second))]))
    for content in (f"---\n{documents}", f"# a comment\n{listed(first, second)}", json.dumps([first, second]), untyped):
        assert measures(read([make(content)])) == expected
    assert measures(read([make(json.dumps(first)), make(json.dumps(second))])) == expected


def test_times_without_quotes_and_with_zones_are_the_same_time(make: Make) -> None:
    text = listed(pod("a", 10, 15))
    for other in (at(10)[:-1] + "+00:00", "2026-05-01T12:00:10+02:00"):
        assert measures(read([make(text.replace(at(10), other))]))["queue_wait_median"] == 10
    yaml = f"# yaml\n{text}".replace('"2026', "2026").replace('Z"', "Z")
    assert measures(read([make(yaml)]))["queue_wait_median"] == 10


def test_an_object_in_two_files_counts_once_as_it_is_in_the_last(make: Make) -> None:
    found = read([make(listed(pod("a", None))), make(listed(pod("a", 10, 15)))])
    assert fates(found) == {"with queue wait and start-up": 1, "of the same object again; the last one counts": 1}


def test_other_kinds_are_set_aside_and_what_is_odd_is_not_understood(make: Make) -> None:
    odd = [
        {**pod("b", 10, 15), "status": 3},
        pod("c", 10, 5),
        thing("Pod", "d", condition("PodScheduled", "True", 10), created=None),
        json.loads(json.dumps(pod("e", 10, 15)).replace(at(10), "yesterday")),
        "a line",
    ]
    found = read([make(json.dumps([pod("a", 10, 15), {"kind": "ConfigMap"}, *odd]))])
    assert fates(found) == {
        "with queue wait and start-up": 1,
        "of kind ConfigMap": 1,
        "with a time that is none, or a status of another form": 2,
        "with times out of order": 1,
        "without a time of creation": 1,
        "that are cut off, or no objects": 1,
    }


BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"
REFUSED = [
    ("", "is empty; expected is objects as `kubectl get pods -o yaml`"),
    (b"\x00\x01\x02", "is binary"),
    ("kind: ConfigMap\n", "holds no such object, but 1 ConfigMap; expected is"),
    ("name: mine\n", "holds no such object, but 1 without a kind"),
    ("--- \n", "holds no such object, but nothing else"),
    ("- [a\n", "cannot be read as YAML, or is cut off: "),
    (BOMB, "an alias, which is not read here"),
    (
        "a: !!python/object/apply:os.system [ls]\n",
        "cannot be read as YAML, or is cut off: could not determine a constructor for the tag",
    ),
    ("[" * 5000, "is nested too deeply"),
    ("a: " + "[" * 5000, "cannot be read as YAML: "),
    (listed(pod("a", 10, 15))[:-10], "is not JSON, or is cut off"),
    (listed(pod("a", 10, 15), thing("Workload", "b")), "hold Pod and Workload, in which one job shows twice"),
    ("name,created,node\na,b,c\n", "has the columns name, created, node, and not created with scheduled or running"),
    (" iteration 1/ 9 | elapsed time per iteration (ms): 100.0 |\n", "holds no such object"),
]


@pytest.mark.parametrize(("content", "message"), REFUSED, ids=[message[:40] for _, message in REFUSED])
def test_what_cannot_be_read_is_refused_in_one_message(make: Make, content: str | bytes, message: str) -> None:
    assert message in refused(make(content))


def test_yaml_that_takes_minutes_is_refused(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roi.evidence.waits.LARGEST_YAML", 100)
    assert "is YAML of more than 100 bytes; expected is a smaller part, or JSON" in refused(make("kind: Pod\n" * 20))
    read([make(listed(pod("a", 10, 15)))])


# --- cold and warm ----------------------------------------------------------------------------------------------------------


def test_cold_and_warm_starts_that_are_clearly_apart_become_findings(make: Make) -> None:
    warm, cold = [10, 12, 14, 16], [600, 660, 720]
    found = read([make(listed(*(pod(str(each), 5, 5 + each, created=0) for each in warm + cold)))])
    findings = {each.input: each for each in found.findings}
    assert findings["warm_start_minutes"].base == pytest.approx(13 / 60)
    assert findings["cold_start_minutes"].base == 11
    assert (findings["cold_start_minutes"].low, findings["cold_start_minutes"].high) == pytest.approx((10.2, 11.8))
    share = findings["cold_share"]
    assert (share.base, share.low, share.high) == pytest.approx((3 / 7, *wilson(3, 7)))
    assert (share.count, share.dated) == (7, date(2026, 5, 1))


@pytest.mark.parametrize(
    ("seconds", "cold"),
    [
        ([], 0),
        ([10, 10, 10, 29, 29, 29], 0),
        ([10, 10, 10, 30, 30, 30], 3),
        ([10, 10, 10, 30, 30], 0),
        ([0, 0, 1, 2, 2, 2], 0),  # whole seconds: 0 may have been almost 1
        ([0, 0, 1, 3, 3, 3], 3),
        ([1, 10, 11, 12, 13, 40, 41, 42], 3),  # the lone 1 is no group
    ],
)
def test_where_two_groups_are_clear(seconds: list[float], cold: int) -> None:
    assert len(groups(seconds)[1]) == cold
    assert cold == 0 or groups(seconds)[0] + groups(seconds)[1] == sorted(seconds)


def test_wilsons_interval_is_as_published() -> None:
    # Newcombe, Statistics in Medicine 17 (1998), table I: 81 of 263 with 95 % gives 0.2553 to 0.3662, method 3. Here it is 80 %,
    # whose ends solve (seen - p)^2 = z^2 p (1 - p) / n.
    for end in wilson(81, 263):
        assert (81 / 263 - end) ** 2 == pytest.approx(1.2815515655446004**2 * end * (1 - end) / 263)
    assert wilson(0, 5)[0] == pytest.approx(0)


# --- laws -------------------------------------------------------------------------------------------------------------------

SEEDS = [
    listed(pod("a", 10, 15), pod("b", None), pod("c", 20, 400, restarts=1)).encode(),
    "".join(f"---\n{json.dumps(pod(name, 10, 15))}\n" for name in "ab").encode(),
    f"name,created,scheduled,running\na,{at(0)},{at(10)},{at(15)}\nb,{at(0)},,\n".encode(),
    b"kind: PyTorchJob\nmetadata:\n  creationTimestamp: 2018-12-16T21:39:09Z\n  name: a\nstatus:\n  conditions:\n"
    b"    - {type: Created, status: 'True', lastTransitionTime: 2018-12-16T21:39:09Z}\n"
    b"    - {type: Running, status: 'True', lastTransitionTime: 2018-12-16T21:40:45Z}\n",
]


@given(st.lists(st.sampled_from(SEEDS), min_size=1, max_size=2), st.integers(0, 2**32))
@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damaged_file_gives_evidence_that_adds_up_or_one_message(make: Make, contents: list[bytes], seed: int) -> None:
    path = make(mutated(b"".join(contents), Random(seed)))
    with suppress(InputError):
        found = read([path])
        assert sum(each.count for each in found.accounts) == found.total
        assert all(each.value >= 0 for each in found.measures)
    path.unlink()
