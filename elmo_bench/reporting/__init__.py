"""From the ledger to tables, figures and pages, as pandas frames. Imports no torch.

    frame.runs            the records, one row each; `systems` has one row for all
                          seeds of a run
    comparisons.compare   pairs of systems: gain, interval, p, verdict; `pairs` makes
                          pairs, `ranks` ranks several encoders
    layouts/              tables (`tables.table`) and figures (`figures.figure`) of an
                          experiment, from both frames
    leaderboard           every table and figure of a report, by suite and section
    render                files: pages, CSV, LaTeX, SVG

`names` and `comparable` say how tables call things, `formats` how cells read, `console`
what commands print. `results` gives the frame of runs to other programs.
"""
