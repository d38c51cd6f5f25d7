"""What is said below a table of all runs."""

from elmo_bench.reporting.layouts import runs

from tests.reporting.ledgers import add


def test_core_hours_count_threads_and_hours_of_a_gpu_do_not(tmp_path, found):
    for seed in (0, 1):
        add(tmp_path, "ner", "glove", seed)
    [group], _ = found()
    one, two = group.rows[0].records
    one["cost"]["seconds"] = two["cost"]["seconds"] = 3600.0
    one["environment"].update(device="cpu", threads=4)
    two["environment"].update(device="NVIDIA H100", threads=4)
    assert runs.spent(group) == "2 runs took 4.0 core-hours and 1.0 hours on NVIDIA H100."
