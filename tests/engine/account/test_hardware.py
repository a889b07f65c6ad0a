from engine.account import hardware


def test_the_record_says_processor_threads_torch_and_kernels():
    device = hardware.describe_device(threads=2, kernels={"linear": "cpu"})
    assert device.kind == "cpu"
    assert device.name.strip()
    assert device.threads == 2
    assert device.torch_version.startswith("2.")
    assert device.kernels == {"linear": "cpu"}


def test_the_name_comes_from_the_system_where_it_tells(tmp_path):
    listing = tmp_path / "cpuinfo"
    listing.write_text("processor\t: 0\nmodel name\t: AMD EPYC 9B45\nflags\t\t: fpu\n")
    assert hardware._name_in_proc(listing) == "AMD EPYC 9B45"
    listing.write_text("processor\t: 0\nFeatures\t: fp asimd\n")
    assert hardware._name_in_proc(listing) is None
    assert hardware._name_in_proc(tmp_path / "absent") is None
