"""A process that only draws, or only asks, never pays for torch; nobody but a cluster pays for Ray."""

import subprocess
import sys

import pytest

FREE = [
    "engine",
    "engine.account.cost",
    "engine.account.hardware",
    "engine.account.metrics",
    "engine.account.record_file",
    "engine.account.run_table",
    "engine.account.service",
    "engine.account.trace_record",
    "engine.loop.request",
    "engine.loop.run_log",
    "engine.loop.scheduler",
    "engine.loop.engine",
    "engine.serve.load",
    "engine.cluster.front",
    "engine.serve.server",
    "engine.__main__",
]


@pytest.mark.parametrize("module", FREE)
def test_importing_it_does_not_import_torch_or_ray(module):
    code = f"import sys, {module}; sys.exit('torch' in sys.modules or 'ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_public_names_are_there_and_others_are_not():
    import engine

    assert {name for name in dir(engine) if name != "__version__"} == set(engine.__all__) - {"__version__"}
    for name in engine.__all__:
        assert getattr(engine, name)
    with pytest.raises(AttributeError, match="no attribute 'Egnine'"):
        _ = engine.Egnine
