"""docs/suite.md names what the suite open v1 is: it has to agree with the tasks' yaml and the golden digests."""

import json
import re
from pathlib import Path

import yaml

from elmo_bench.spec.config import suite_tasks

ROOT = Path(__file__).parents[1]


def test_the_suite_is_what_its_page_says():
    page = (ROOT / "docs" / "suite.md").read_text(encoding="utf-8")
    contents = json.loads((ROOT / "tests" / "golden" / "hashes.json").read_text(encoding="utf-8"))["contents"]
    digests = {run.split()[0]: found["data"][:12] for run, found in contents.items()}
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| ([\w-]+) \| (.+) \| `(\w+)` \|$", page, re.MULTILINE)
    assert {task for task, *_ in rows} == {*suite_tasks()}
    for task, version, head, data, digest in rows:
        config = yaml.safe_load((ROOT / "conf" / "task" / f"{task}.yaml").read_text(encoding="utf-8"))
        assert (int(version), head, data) == (
            config["version"],
            config["head"]["name"],
            config["report"]["data"]["open"],
        )
        assert digest == digests[task]
    protocol = yaml.safe_load((ROOT / "conf" / "config.yaml").read_text(encoding="utf-8"))["protocol"]
    assert f"training protocol {protocol} at" in page
