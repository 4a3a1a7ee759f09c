package crew

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// The built-in roles. Code asks for these by name; a file may change what each may do.
const (
	Planner   = "planner"
	Lead      = "lead"
	Worker    = "worker"
	Fixer     = "fixer"
	Auditor   = "auditor"
	Reviewer  = "reviewer"
	Critic    = "critic"
	Librarian = "librarian"
)

// A Role is a prompt, tools, models and limits under a name.
type Role struct {
	Name string `toml:"-" json:"role"`
	// Tier is 1 for roles that plan, 2 for those that lead, 3 for those that work, 4 for those that check.
	Tier  int    `toml:"tier" json:"tier"`
	About string `toml:"about" json:"about"`
	// Prompt stands at the head of the instructions of its questions.
	Prompt string `toml:"prompt" json:"prompt"`
	// Tools are what it may call on a workbench; none for a role that is asked one question.
	Tools []string `toml:"tools" json:"tools"`
	// Models are asked by the number of the try; the last one is asked from then on. Empty means the models of the settings.
	Models []string `toml:"models" json:"models"`
	// Calls are the roles to which it may give work.
	Calls []string `toml:"calls" json:"calls"`
	// Returns is what it must answer: change, plan, review or text.
	Returns string `toml:"returns" json:"returns"`
	// Optional says that its tasks are reviews of a file, and count as done if nothing had to be changed.
	Optional bool   `toml:"optional" json:"optional,omitempty"`
	Limits   Limits `toml:"limits" json:"limits"`
	// Talk holds the caps of its conversations on a workbench.
	Talk Talk `toml:"talk" json:"talk"`
	// Layer is where it comes from: 0 for the first layer given to LoadRoles, -1 if it is built in. Text is its file.
	Layer int    `toml:"-" json:"-"`
	Text  string `toml:"-" json:"-"`
}

// Limits are caps that code enforces.
type Limits struct {
	// Tries is how often a task may be begun; 0 means 2.
	Tries int `toml:"tries" json:"tries"`
	// Rounds is how often the role may be asked for the same thing again, after a plan that does not hold or a review
	// that led to changes; 0 means 2.
	Rounds int `toml:"rounds" json:"rounds"`
}

// The caps that a role's file may not exceed.
const (
	maxTries  = 6
	maxRounds = 6
	maxPrompt = 16 << 10 // bytes
)

// Model returns the model for a try, counted from 0; "" means the models of the settings.
func (r Role) Model(try int) string {
	if len(r.Models) == 0 {
		return ""
	}
	return r.Models[min(max(0, try), len(r.Models)-1)]
}

// May reports whether a role may call a tool.
func (r Role) May(tool string) bool { return slices.Contains(r.Tools, tool) }

// Roles holds all roles, by name.
type Roles map[string]Role

// A DelegationError says that a role gave work to a role to which it may not give any.
type DelegationError struct{ From, To, May string }

// Error says what is allowed.
func (e *DelegationError) Error() string {
	return fmt.Sprintf("the role %s may not give work to %q: it may give it to %s", e.From, e.To, e.May)
}

// Delegate returns nil if one role may give work to another, and otherwise a *DelegationError.
func (r Roles) Delegate(from, to string) error {
	role := r[from]
	if _, ok := r[to]; ok && slices.Contains(role.Calls, to) {
		return nil
	}
	may := "none"
	if len(role.Calls) > 0 {
		may = strings.Join(role.Calls, ", ")
	}
	return &DelegationError{from, to, may}
}

//go:embed roles/*.toml
var builtIn embed.FS

// Names lists the roles, by tier and name.
func (r Roles) Names() (names []string) {
	for name := range r {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := r[a].Tier - r[b].Tier; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return names
}

// LoadRoles reads the roles. Each layer holds complete files such as worker.toml; the first layer that has one wins, and a nil
// layer holds none. tools are the known tools. An invalid file is an error that names it; see Strangers for files of no role.
func LoadRoles(tools []string, layers ...fs.FS) (Roles, error) {
	roles := Roles{}
	shipped, err := fs.Glob(builtIn, "roles/*.toml")
	if err != nil {
		return nil, err
	}
	for _, file := range shipped {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "roles/"), ".toml")
		text, layer, err := roleText(layers, name)
		if err != nil {
			return nil, err
		}
		role := Role{Name: name, Layer: layer, Text: text}
		d := toml.NewDecoder(strings.NewReader(text)).DisallowUnknownFields()
		if err := d.Decode(&role); err != nil {
			return nil, fmt.Errorf("read the role %s.toml: %w", name, err)
		}
		roles[name] = role
	}
	for _, name := range roles.Names() {
		if err := roles[name].check(roles, tools); err != nil {
			return nil, fmt.Errorf("the role %s.toml: %w", name, err)
		}
	}
	return roles, nil
}

// Strangers lists the files of the layers that are not named after a role, by layer and name. LoadRoles ignores them: a
// misspelt name has no effect, and the user must learn that.
func Strangers(roles Roles, layers ...fs.FS) (list []Stranger, err error) {
	for i, layer := range layers {
		if layer == nil {
			continue
		}
		files, err := fs.Glob(layer, "*.toml")
		if err != nil {
			return nil, fmt.Errorf("list the roles: %w", err)
		}
		for _, file := range files {
			if _, ok := roles[strings.TrimSuffix(file, ".toml")]; !ok {
				list = append(list, Stranger{i, file})
			}
		}
	}
	return list, nil
}

// A Stranger is a file of a layer that is not named after a role.
type Stranger struct {
	Layer int
	File  string
}

// roleText returns the file of a role and its layer.
func roleText(layers []fs.FS, name string) (string, int, error) {
	for i, layer := range layers {
		if layer == nil {
			continue
		}
		data, err := fs.ReadFile(layer, name+".toml")
		if err == nil && len(data) > 2*maxPrompt {
			err = fmt.Errorf("it has %d bytes, more than %d", len(data), 2*maxPrompt)
		}
		if err == nil {
			return string(data), i, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", i, fmt.Errorf("read the role %s.toml: %w", name, err)
		}
	}
	data, err := fs.ReadFile(builtIn, "roles/"+name+".toml")
	return string(data), -1, err
}

// check reports what in a role is invalid.
func (r Role) check(roles Roles, tools []string) error {
	switch {
	case r.Tier < 1 || r.Tier > 4:
		return fmt.Errorf("tier is %d: give 1 for a role that plans, 2 for one that leads, 3 for one that works, 4 for one that checks", r.Tier)
	case len(r.Prompt) > maxPrompt:
		return fmt.Errorf("the prompt has %d bytes, more than %d", len(r.Prompt), maxPrompt)
	case !slices.Contains([]string{"change", "plan", "review", "text"}, r.Returns):
		return fmt.Errorf("returns is %q: give change, plan, review or text", r.Returns)
	case r.Limits.Tries < 0 || r.Limits.Tries > maxTries:
		return fmt.Errorf("limits.tries is %d: give a number up to %d", r.Limits.Tries, maxTries)
	case r.Limits.Rounds < 0 || r.Limits.Rounds > maxRounds:
		return fmt.Errorf("limits.rounds is %d: give a number up to %d", r.Limits.Rounds, maxRounds)
	case r.Returns != "change" && slices.ContainsFunc(r.Tools, changes):
		return fmt.Errorf("it returns no change, so it may not have the tools that make one")
	}
	for _, tool := range r.Tools {
		if !slices.Contains(tools, tool) {
			return fmt.Errorf("unknown tool %q: name one of %s", tool, strings.Join(tools, ", "))
		}
	}
	for _, name := range r.Calls {
		if _, ok := roles[name]; !ok {
			return fmt.Errorf("it calls %q, which is not a role", name)
		}
	}
	return r.Talk.check("talk")
}

// changes reports whether a tool makes a change.
func changes(tool string) bool {
	return slices.Contains([]string{"edit", "create", "delete", "rename"}, tool)
}
