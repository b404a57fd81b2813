"""Read OpenMetrics with the reference parser, and with the parser of the older text format; print JSON."""
import json
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as older

text = sys.stdin.buffer.read().decode("utf-8")
out, seen = [], set()
for family in openmetrics(text):
    for s in family.samples:
        out.append({"name": s.name, "unit": family.unit, "type": family.type, "help": family.documentation,
                    "labels": s.labels, "value": repr(s.value)})
        seen.add((s.name, tuple(sorted(s.labels.items())), s.value))
assert seen == {(s.name, tuple(sorted(s.labels.items())), s.value) for f in older(text) for s in f.samples}
json.dump(out, sys.stdout)
