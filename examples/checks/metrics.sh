#!/bin/sh
# metrics.sh PROGRAM: what it prints, but for the capacity of a table; and that every line is of the text format.
set -eu
page=$("$1" 2>/dev/null)
printf '%s\n' "$page" | grep -Ev '^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+\{layer="[^"]*"(,verdict="[a-z_]+")?\} [0-9]+)$' && exit 1
printf '%s\n' "$page" | grep -v '^penstock_key_capacity{' | diff - /dev/fd/3 3<<'END'
# HELP penstock_decisions_total Decisions by layer. spared: the layer would have admitted, another refused.
# TYPE penstock_decisions_total counter
penstock_decisions_total{layer="sender",verdict="admitted"} 33
penstock_decisions_total{layer="sender",verdict="refused"} 12
penstock_decisions_total{layer="sender",verdict="shadow_refused"} 0
penstock_decisions_total{layer="sender",verdict="spared"} 0
penstock_decisions_total{layer="domain",verdict="admitted"} 33
penstock_decisions_total{layer="domain",verdict="refused"} 0
penstock_decisions_total{layer="domain",verdict="shadow_refused"} 0
penstock_decisions_total{layer="domain",verdict="spared"} 12
penstock_decisions_total{layer="stricter sender",verdict="admitted"} 24
penstock_decisions_total{layer="stricter sender",verdict="refused"} 0
penstock_decisions_total{layer="stricter sender",verdict="shadow_refused"} 17
penstock_decisions_total{layer="stricter sender",verdict="spared"} 4
# HELP penstock_units_total Units charged by layer.
# TYPE penstock_units_total counter
penstock_units_total{layer="sender"} 33
penstock_units_total{layer="domain"} 33
penstock_units_total{layer="stricter sender"} 24
# HELP penstock_keys Keys that are not fresh.
# TYPE penstock_keys gauge
penstock_keys{layer="sender"} 0
penstock_keys{layer="domain"} 0
penstock_keys{layer="stricter sender"} 3
# HELP penstock_key_capacity Keys that could be held.
# TYPE penstock_key_capacity gauge
# HELP penstock_evictions_total Live keys dropped for want of room.
# TYPE penstock_evictions_total counter
penstock_evictions_total{layer="sender"} 0
penstock_evictions_total{layer="domain"} 0
penstock_evictions_total{layer="stricter sender"} 0
# HELP penstock_newcomers_refused_total Calls refused for want of room.
# TYPE penstock_newcomers_refused_total counter
penstock_newcomers_refused_total{layer="sender"} 0
penstock_newcomers_refused_total{layer="domain"} 0
penstock_newcomers_refused_total{layer="stricter sender"} 0
END
