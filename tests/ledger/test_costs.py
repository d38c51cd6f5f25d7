"""Files of what encoders cost: which encoder they are of, and what a reader refuses."""

import json

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.ledger.costs import EncoderCost, encoder_key, read_costs, write_cost
from tests.ledger.records import make_cost


def test_what_is_written_is_read(tmp_path):
    cost = make_cost()
    path = write_cost(tmp_path, cost)
    assert path.relative_to(tmp_path).as_posix().startswith("some-cpu-x-2/glove-")
    assert read_costs(tmp_path) == ([cost], [])
    assert read_costs(tmp_path / "nothing") == ([], [])


def test_a_measurement_replaces_the_one_of_the_same_weights_and_no_other(tmp_path):
    cost = make_cost()
    newer = cost.model_copy(update={"load_seconds": 9.0})
    weights = make_cost(contents={"vectors": "b" * 64})
    other = make_cost(settings={**cost.settings, "encoder.precision": "int8"})
    on_gpu = cost.environment.model_copy(update={"device": "NVIDIA H100"})
    elsewhere = cost.model_copy(update={"environment": on_gpu})
    paths = [write_cost(tmp_path, each) for each in (cost, newer, other, elsewhere, weights)]
    assert paths[0] == paths[1] and len(set(paths)) == 4
    assert newer in read_costs(tmp_path)[0] and cost not in read_costs(tmp_path)[0]
    assert paths[3].parent.name == "nvidia-h100"


def test_a_folder_that_is_a_link_is_not_read(tmp_path):
    path = write_cost(tmp_path / "other", make_cost())
    (tmp_path / "costs").mkdir()
    (tmp_path / "costs" / "linked").symlink_to(path.parent)
    costs, [problem] = read_costs(tmp_path / "costs")
    assert not costs and "in a folder that is a link" in problem


def test_identity_is_of_the_frozen_encoder_alone():
    settings, contents = make_cost().settings, make_cost().contents
    run = {**settings, "mix.penalty": 1, "task.version": 3}
    assert encoder_key(run, {**contents, "data": "d"}) == encoder_key(settings, contents)
    for other in ({**settings, "encoder.precision": "int8"}, {**settings, "encoder.vectors": "x"}):
        assert encoder_key(other, contents) != encoder_key(settings, contents)
    assert encoder_key(settings, {"vectors": "b" * 64}) != encoder_key(settings, contents)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda cost: cost.update(schema=1), "cost.schema: 1 should be 2"),
        (lambda cost: cost["tokens_per_second"].update({"8": []}), "cost.tokens_per_second.8"),
        (lambda cost: cost["tokens_per_second"].pop("1"), "1 missing"),
        (lambda cost: cost["tokens_per_second"].update({"1": [1e300]}), "should be less than"),
        (lambda cost: cost.update(encoder="../up"), "cost.encoder"),
        (lambda cost: cost.update(memory_mib="9"), "memory_mib"),
    ],
)
def test_a_damaged_file_is_one_line_with_its_name(tmp_path, change, said):
    path = write_cost(tmp_path, make_cost())
    cost = make_cost().to_json()
    change(cost)
    path.write_text(json.dumps(cost))
    found, [problem] = read_costs(tmp_path)
    assert found == [] and problem.startswith(f"{path}: ") and said in problem and "\n" not in problem
    with pytest.raises(UserError):
        EncoderCost.read(cost, "cost")


def test_a_cost_that_is_a_link_is_not_read(tmp_path):
    path = write_cost(tmp_path / "costs", make_cost())
    path.rename(tmp_path / "elsewhere.json")
    path.symlink_to(tmp_path / "elsewhere.json")
    costs, [problem] = read_costs(tmp_path / "costs")
    assert not costs and "a symbolic link" in problem
