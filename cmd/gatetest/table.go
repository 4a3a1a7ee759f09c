package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// A total counts how much of what a gate should do it did.
type total struct {
	Gate    string `json:"gate"`
	Hostile int    `json:"hostile"`
	Stopped int    `json:"hostile_ok"`
	Honest  int    `json:"honest"`
	Passed  int    `json:"honest_ok"`
}

// totals sums up the results of each gate.
func totals(results []result) (list []*total) {
	by := map[string]*total{}
	for _, r := range results {
		t := by[r.Gate]
		if t == nil {
			t = &total{Gate: r.Gate}
			by[r.Gate] = t
			list = append(list, t)
		}
		all, ok := &t.Hostile, &t.Stopped
		if r.Honest {
			all, ok = &t.Honest, &t.Passed
		}
		*all++
		if r.OK {
			*ok++
		}
	}
	return list
}

// table prints a line for each patch, and the totals. Wrong outcomes are in capitals.
func table(out io.Writer, trials []trial, gates []gate, results []result) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprint(w, "case\tmust not be")
	for _, g := range gates {
		fmt.Fprint(w, "\t", g.name)
	}
	fmt.Fprintln(w)
	for i, t := range trials {
		fmt.Fprintf(w, "%s\t%s", t.name(), t.mustNot())
		for _, r := range results[i*len(gates) : (i+1)*len(gates)] {
			text := fmt.Sprintf("%s (%d)", r.Outcome, r.Exit)
			if !r.OK {
				text = "WRONG: " + text
			}
			fmt.Fprint(w, "\t", text)
		}
		fmt.Fprintln(w)
	}
	for _, t := range totals(results) {
		fmt.Fprintf(w, "%s: %d of %d hostile patches came to nothing, %d of %d honest ones were written\n", t.Gate, t.Stopped, t.Hostile, t.Passed, t.Honest)
	}
	return w.Flush()
}
