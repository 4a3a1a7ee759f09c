// Package survey knows what is in a workspace: it keeps ledgers of definitions and references up to date, has models
// describe files, and words what prompts say about a project, the surroundings of a file and its findings.
//
// It parses files in a box, since parsing hostile text is a risk, and treats the results as text from a stranger. It
// changes nothing in a workspace and decides nothing: package loop chooses by what survey reports.
package survey

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agent/images"
	"agent/orchestrator/gate"
	"agent/orchestrator/ledger"
	"agent/sandbox/workspace"
	"agent/verify"
)

// A Survey is what is known about a workspace when a run is planned.
type Survey struct {
	Ledger *ledger.Ledger
	// Summaries are what models said about it.
	Summaries ledger.Summaries
}

// The bounds on what a prompt says from a survey, in bytes and in findings. They leave most of a small model's context
// to the code: the surroundings of a file keep the model from guessing; they are not there to be worked on.
const (
	maxOverview = 6 << 10
	maxAround   = 6 << 10
	maxProtect  = 2 << 10
	maxFindings = 50
)

// Project says what the project is, with one line for each file; "" if nothing is known. It contains text of models,
// which is as untrusted as code, and every template quotes it.
func (s Survey) Project() string {
	if len(s.Ledger.Paths()) == 0 {
		return ""
	}
	return Overview(s.Ledger, s.Summaries, maxOverview)
}

// Around says what the file at path uses from others, which files use its definitions, and which of its names must
// therefore stay; "" if nothing is known. Without this, a model that sees one file breaks callers that it does not see.
func (s Survey) Around(path string) string {
	// The ledger distributes the bytes: users first, since breaking one is worse than guessing a signature.
	takes, gives := s.Ledger.Neighbours(path, maxAround)
	var b strings.Builder
	if len(takes) > 0 {
		b.WriteString("It uses:\n")
	}
	for _, n := range takes {
		fmt.Fprintf(&b, "- %s\n", n)
	}
	if len(gives) > 0 {
		b.WriteString("Its own are used by:\n")
	}
	for _, n := range gives {
		fmt.Fprintf(&b, "- %s, line %s: %s\n", n.Path, lines(n.Lines), title(n.Definition))
	}
	// Worded as an order, and with all names, even where their users found no room.
	if names := s.Ledger.Protected(path); len(names) > 0 {
		fmt.Fprintf(&b, "Must not be renamed or removed, since other files use them: %s\n", listed(names, maxProtect))
	}
	return b.String()
}

// title returns a definition without its place: its line belongs to the file asked about, and would be taken for a line
// of its user.
func title(d ledger.Definition) string {
	_, text, _ := strings.Cut(d.String(), ": ")
	return d.Kind + " " + text
}

// lines joins line numbers: "3, 9".
func lines(list []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(list), "[]"), " ", ", ")
}

// listed joins names up to a limit of bytes, and says how many more there are.
func listed(names []string, limit int) string {
	size := 0
	for i, name := range names {
		if size += len(name) + 2; size > limit {
			return strings.Join(append(slices.Clone(names[:i]), fmt.Sprintf("and %d more", len(names)-i)), ", ")
		}
	}
	return strings.Join(names, ", ")
}

// Lazy returns what a scan for lazy code finds in the file at path, one finding on each line.
func (s Survey) Lazy(path string) string {
	// An unknown file has no findings.
	f, _ := s.Ledger.File(path)
	var b strings.Builder
	for i, finding := range f.Lazy() {
		if i == maxFindings {
			break
		}
		fmt.Fprintln(&b, finding)
	}
	return b.String()
}

// An Inspector reports what the static gates find in a workspace as it is. *verify.Verifier implements it.
type Inspector interface {
	Findings(ctx context.Context, req verify.Request, emit func(verify.Event)) ([]verify.Gate, error)
}

// An Examiner examines a file before any change: a model that sees the findings of lint and types fixes them instead of
// guessing.
type Examiner struct {
	Images    gate.Snapshotter
	Inspector Inspector
	// Run is the label of the boxes.
	Run string
	// Gate receives the events of the gates; nil means no one.
	Gate func(verify.Event)
}

// Findings returns what lint and types find in the file at path, one finding on each line; "" for none. It finds the
// snapshot of the run and does not make one; the gates' results are kept for the run, which would ask the same.
func (x *Examiner) Findings(ctx context.Context, base *workspace.Manifest, rules gate.Rules, path string) (string, error) {
	// A run has made both images before it plans. Finding them costs one inspect each, and spares every planner from
	// having to be given them.
	tools, err := x.Images.Ensure(ctx, images.Toolchain)
	if errors.Is(err, images.ErrAbsent) {
		return "", nil // nobody builds it just to look
	}
	if err != nil {
		return "", fmt.Errorf("find the toolchain image: %w", err)
	}
	st, err := (&gate.Gate{Images: x.Images, Rules: rules}).Freeze(ctx, tools, base)
	if err != nil {
		return "", err
	}
	gates, err := x.Inspector.Findings(ctx, verify.Request{
		Run: x.Run, Lease: time.Now().Add(gate.LeaseFor), Snapshot: st.Image.ID, Delta: st.Delta, Installed: st.Image.Installed,
		Toolchain: tools.ID, Versions: tools.Versions, Base: base, Config: rules.Config,
	}, func(e verify.Event) {
		if x.Gate != nil {
			x.Gate(e)
		}
	})
	if err != nil {
		return "", err
	}
	return about(gates, path), nil
}

// about lists the findings of gates in one file, with line, gate and rule; findings in other files are another run's
// work.
func about(gates []verify.Gate, path string) string {
	var b strings.Builder
	n := 0
	for _, g := range gates {
		for _, f := range g.Findings {
			if f.File != path {
				continue
			}
			if n++; n > maxFindings {
				continue
			}
			fmt.Fprintf(&b, "line %d: %s %s: %s\n", f.Line, g.Name, f.Rule, f.Message)
		}
	}
	if n > maxFindings {
		fmt.Fprintf(&b, "[%d more findings]\n", n-maxFindings)
	}
	return b.String()
}

// Overview returns what a prompt says about a project: what it is, then one line for each file, as many as fit into
// limit bytes, and how many are left out.
func Overview(book *ledger.Ledger, s ledger.Summaries, limit int) string {
	var b strings.Builder
	b.WriteString(book.Project(s) + "\n\n")
	paths := book.Paths()
	for i, path := range paths {
		line := fmt.Sprintf("%s: %s\n", path, book.Line(path, s))
		if b.Len()+len(line) > limit {
			fmt.Fprintf(&b, "[%d more files]\n", len(paths)-i)
			break
		}
		b.WriteString(line)
	}
	return b.String()
}
