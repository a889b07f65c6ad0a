"""Side-by-side measurements; each prints a table and a last line of JSON."""
