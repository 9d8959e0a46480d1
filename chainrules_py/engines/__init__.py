"""Uses of rules by engines: frule and rrule, the default engine, exported and imported rules."""
