"""What it cost: the run record, its files, the cost formulas, the timings, the machine."""
