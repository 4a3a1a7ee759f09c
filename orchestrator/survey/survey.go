// Package survey knows what is in a workspace: it keeps ledgers of definitions and
// references up to date, has models describe files, and words what prompts say of
// a project, of what is around a file and of what is wrong with it.
//
// Files are parsed in a box, since parsing hostile text is a risk; what comes out
// of it is read as text of a stranger. It changes nothing in a workspace and
// decides nothing: package loop chooses by what it says.
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

// A Survey is what is known of a workspace when a run is planned.
type Survey struct {
	Ledger *ledger.Ledger
	// Summaries are what models said of it.
	Summaries ledger.Summaries
}

// The bounds of what a prompt says of a survey, in bytes and in findings. They
// leave most of a small model's context to the code: what is around a file is
// there to keep the model from guessing, not to be worked on.
const (
	maxOverview = 6 << 10
	maxAround   = 6 << 10
	maxProtect  = 2 << 10
	maxFindings = 50
)

// Project says what the project is, and a line a file; "" when nothing is
// known. The words of models in it are as untrusted as code, and are quoted by
// every template.
func (s Survey) Project() string {
	if len(s.Ledger.Paths()) == 0 {
		return ""
	}
	return Overview(s.Ledger, s.Summaries, maxOverview)
}

// Around says what the file at path takes from others, who uses what it
// defines, and which of its names must therefore stay; "" when nothing is known.
// Without it a model that sees one file breaks the callers that it does not see.
func (s Survey) Around(path string) string {
	// The ledger shares the bytes out: users first, since to break one is worse
	// than to guess a signature.
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
	// Said as an order, and of all names, also where their users found no room.
	if names := s.Ledger.Protected(path); len(names) > 0 {
		fmt.Fprintf(&b, "Must not be renamed or removed, since other files use them: %s\n", listed(names, maxProtect))
	}
	return b.String()
}

// title is a definition without its place: the line is that of the file asked
// about, and would be taken for one of its user.
func title(d ledger.Definition) string {
	_, text, _ := strings.Cut(d.String(), ": ")
	return d.Kind + " " + text
}

// lines joins line numbers: "3, 9".
func lines(list []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(list), "[]"), " ", ", ")
}

// listed joins names up to a limit of bytes, and says how many there are more.
func listed(names []string, limit int) string {
	size := 0
	for i, name := range names {
		if size += len(name) + 2; size > limit {
			return strings.Join(append(slices.Clone(names[:i]), fmt.Sprintf("and %d more", len(names)-i)), ", ")
		}
	}
	return strings.Join(names, ", ")
}

// Lazy is what a scan for lazy code says of the file at path, one finding a
// line.
func (s Survey) Lazy(path string) string {
	// A file that is not known is not lazy either.
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

// An Inspector tells what the static gates have against a workspace as it is.
// *verify.Verifier is one.
type Inspector interface {
	Findings(ctx context.Context, req verify.Request, emit func(verify.Event)) ([]verify.Gate, error)
}

// An Examiner looks at a file before any change: a model that is shown what
// lint and types say mends it, and does not guess.
type Examiner struct {
	Images    gate.Snapshotter
	Inspector Inspector
	// Run is the label of the boxes.
	Run string
	// Gate takes what the gates do; nil for nobody.
	Gate func(verify.Event)
}

// Findings returns what lint and types say of the file at path, one finding a
// line; "" for nothing. The snapshot is that of the run and is found, not made;
// what the gates say is kept for the run, which would ask the same.
func (x *Examiner) Findings(ctx context.Context, base *workspace.Manifest, rules gate.Rules, path string) (string, error) {
	// A run has made both images before it plans; to find them costs an inspect
	// each, and saves every planner from being handed them.
	tools, err := x.Images.Ensure(ctx, images.Toolchain)
	if errors.Is(err, images.ErrAbsent) {
		return "", nil // nobody builds it for a look
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

// about lists the findings of gates that concern one file, with its line, the
// gate and the rule; those of other files are another run's work.
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

// Overview is what a prompt says of a project: what it is, then a line a file,
// as many as fit into limit bytes, and how many are left out.
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
