"""What must agree across files, and which part of the package may know which."""

import ast
import re
import subprocess
import tomllib

import pytest

import roi
from roi.inputs import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NAME = re.compile(r"[\w.-]+")


def names(requirements):
    """Requirements by name, written one way: `ruamel.yaml>=0.18` as `ruamel-yaml`."""
    return {re.sub(r"[-_.]+", "-", NAME.match(each)[0]).lower(): each[NAME.match(each).end() :] for each in requirements}


def tracked():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / line for line in listed.splitlines() if (ROOT / line).is_file()]


def test_both_environments_ask_for_the_same():
    listed = re.findall(r"^  - (\S+)$", (ROOT / "environment.yml").read_text(), re.MULTILINE)
    conda = names([each for each in listed if each not in ("pip", "pip:")])
    assert conda.pop("python") == PYPROJECT["requires-python"]
    assert conda == names(PYPROJECT["dependencies"])


def test_constraints_pin_every_requirement_and_name_no_place():
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    pinned = names(lines)
    wanted = names([*PYPROJECT["dependencies"], *PYPROJECT["optional-dependencies"]["dev"]])
    assert set(wanted) <= set(pinned)
    for name, least in wanted.items():
        if least:
            floor, version = (tuple(map(int, re.findall(r"\d+", each)[:2])) for each in (least, pinned[name]))
            assert version >= floor[: len(version)], name


def test_every_import_is_a_requirement():
    modules = {
        **{
            "IPython": "ipywidgets",
            "anywidget": "anywidget",
            "jinja2": "jinja2",
            "markupsafe": "jinja2",
            "ruamel": "ruamel-yaml",
        },
        **{
            "jupyter_client": "jupyter-client",
            "jupyter_server": "jupyter-server",
            "pptx": "python-pptx",
            "SALib": "salib",
            "vl_convert": "vl-convert-python",
            "zmq": "pyzmq",
        },
    }
    extras = [each for extra, needs in PYPROJECT["optional-dependencies"].items() if extra != "dev" for each in needs]
    wanted = names([*PYPROJECT["dependencies"], *extras])
    standard = {"roi", "__future__"}
    for file in (ROOT / "roi").rglob("*.py"):
        for module in imported(file):
            top = module.split(".")[0]
            if top not in standard and top not in STANDARD:
                assert modules.get(top, top) in wanted, f"{file.name} imports {top}"


STANDARD = __import__("sys").stdlib_module_names


def imported(file):
    """Modules that a file imports when it is imported or later."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module} | {f"{node.module}.{each.name}" for each in node.names if node.module == "roi"}
    return found


@pytest.mark.parametrize(
    ("module", "knows"),
    [
        ("units", set()),
        ("symbols", set()),
        ("problems", set()),
        ("lines", {"symbols", "units"}),
        ("payback", {"lines", "symbols"}),
        ("javascript", {"lines", "symbols"}),
        ("finance", {"lines", "payback"}),
    ],
)
def test_what_lies_below_knows_nothing_above(module, knows):
    own = {name.split(".")[1] for name in imported(ROOT / "roi" / f"{module}.py") if name.startswith("roi.")}
    assert own <= knows


def test_only_the_faces_know_widgets_voila_and_papermill():
    faces = {"widget.py", "serve.py", "report.py", "kernel.py"}
    for file in (ROOT / "roi").rglob("*.py"):
        used = {name.split(".")[0] for name in imported(file)} & {"anywidget", "ipywidgets", "voila", "papermill", "nbconvert"}
        assert not used or file.name in faces, f"{file.name} imports {used}"


def test_the_changelog_is_of_this_version():
    assert re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1] == roi.__version__


def test_no_file_names_a_registry():
    host = re.compile(r"pypi\.org|pythonhosted|npmjs|conda\.anaconda|deb\.debian")
    for file in tracked():
        if file.suffix not in (".png",) and file != ROOT / "tests" / "test_packaging.py":
            assert not host.search(file.read_text(encoding="utf-8")), file


def test_every_data_file_of_the_package_is_in_its_wheel():
    # hatchling takes every file under roi/ that git does not ignore.
    ignored = subprocess.run(
        ["git", "ls-files", "--others", "--ignored", "--exclude-standard", "roi"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert [each for each in ignored if "__pycache__" not in each] == []
