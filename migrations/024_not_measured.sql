-- One more reason for which something was not judged.

comment on column v_unproven.kind is 'Why, for programs: no-tests, no-runner, script, not-installed, not-collected, none-found, all-skipped, not-judged, not-run, no-gate, no-dependencies, not-executed or not-measured';
