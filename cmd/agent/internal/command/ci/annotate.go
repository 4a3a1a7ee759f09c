package ci

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"agent/cmd/agent/internal/term"
	"agent/orchestrator/run"
	"agent/verify"
)

// last returns the gates of the candidate that decided a run, or nothing if none was judged.
func last(d run.Document) (gates []verify.Gate) {
	if n := len(d.Candidates); n > 0 {
		gates = d.Candidates[n-1].Gates
	}
	return gates
}

// github writes the findings as workflow commands, which GitHub shows at the lines.
func github(w io.Writer, d run.Document) {
	found := false
	for _, g := range last(d) {
		if g.Verdict == verify.Pass {
			continue
		}
		for _, f := range g.Findings {
			found = true
			place := ""
			if filepath.IsLocal(f.File) {
				place = "file=" + property(f.File)
				if f.Line > 0 {
					place += fmt.Sprintf(",line=%d", f.Line)
				}
				if f.Column > 0 {
					place += fmt.Sprintf(",col=%d", f.Column)
				}
				place += ","
			}
			fmt.Fprintf(w, "::error %stitle=%s::%s\n", place, property(strings.TrimSpace(g.Name+" "+f.Rule)), data(f.Message))
		}
	}
	if d.Error != nil && !found {
		fmt.Fprintf(w, "::error title=agent::%s\n", data(d.Error.Message))
	}
	for _, u := range d.Unproven {
		fmt.Fprintf(w, "::notice title=%s::%s\n", property("not judged: "+u.Gate), data(u.Reason))
	}
}

// data escapes the text of a workflow command, and property one of its values, so that neither begins another.
func data(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(term.Clean(text))
}

func property(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(text))
}

// An issue is a finding in GitLab's report of code quality.
type issue struct {
	Description string   `json:"description"`
	Check       string   `json:"check_name"`
	Fingerprint string   `json:"fingerprint"`
	Severity    string   `json:"severity"`
	Location    location `json:"location"`
}

type location struct {
	Path  string `json:"path"`
	Lines struct {
		Begin int `json:"begin"`
	} `json:"lines"`
}

// gitlab returns the findings as a report of code quality, which has no place for findings without a file.
func gitlab(d run.Document) []issue {
	list := []issue{}
	for _, g := range last(d) {
		if g.Verdict == verify.Pass {
			continue
		}
		for _, f := range g.Findings {
			if !filepath.IsLocal(f.File) {
				continue
			}
			i := issue{Description: term.Clean(f.Message), Check: strings.TrimSpace(g.Name + " " + f.Rule), Fingerprint: f.Fingerprint(), Severity: "major"}
			i.Location.Path, i.Location.Lines.Begin = f.File, max(f.Line, 1)
			list = append(list, i)
		}
	}
	return list
}
