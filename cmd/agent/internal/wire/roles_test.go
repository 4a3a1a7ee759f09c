package wire

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/images"
	"agent/orchestrator/agent"
	"agent/orchestrator/crew"
	"agent/orchestrator/crew/builder"
	"agent/orchestrator/llm"
	"agent/orchestrator/run"
	"agent/orchestrator/store/storetest"
	"agent/sandbox"
)

// roleText returns a role that works with these models.
func roleText(models string) string {
	return "tier = 3\nabout = \"x\"\nreturns = \"change\"\ntools = [\"read\"]\nmodels = [" + models + "]\n"
}

// rolesIn writes role files into a directory.
func rolesIn(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name+".toml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A role decides what a model may do: a workspace's role is used once the user has allowed it, for that role and that text.
func TestRolesOfAWorkspaceNeedAConsent(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), filepath.Join(t.TempDir(), "agent", "config.toml")
	own := filepath.Join(dir, rolesDir)
	refused := func(at, who string) {
		t.Helper()
		var wrong *fault.Error
		if _, err := allowedRoles(dir, at); !errors.As(err, &wrong) || wrong.Exit != run.ExitApproval || !strings.HasSuffix(wrong.Error(), who) || !strings.Contains(wrong.Next, "agent roles --trust") {
			t.Errorf("%s is not refused: %v", who, err)
		}
	}
	trust := func() {
		t.Helper()
		all, err := LoadRoles(dir, home)
		if err != nil {
			t.Fatal(err)
		}
		left, err := UnallowedRoles(all, home)
		if err == nil {
			err = Allow(home, left)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := allowedRoles(dir, home); err != nil {
			t.Errorf("what was trusted is refused: %v", err)
		}
	}
	if roles, err := allowedRoles(dir, home); err != nil || roles[crew.Worker].Layer >= 0 {
		t.Errorf("built in is %+v, %v", roles[crew.Worker], err)
	}
	rolesIn(t, filepath.Join(filepath.Dir(home), ownRoles), map[string]string{"worker": roleText(`"a/yours"`), "fixer": roleText(`"a/yours"`)})
	if roles, err := allowedRoles(dir, home); err != nil || roles[crew.Worker].Layer != OfUser || roles[crew.Worker].Model(0) != "a/yours" {
		t.Errorf("the user's own is %+v, %v", roles[crew.Worker], err)
	}
	if roles, err := allowedRoles(dir, ""); err != nil || roles[crew.Worker].Layer >= 0 {
		t.Errorf("without a place for them: %+v, %v", roles[crew.Worker], err)
	}
	rolesIn(t, own, map[string]string{"worker": roleText(`"a/theirs"`)})
	refused(home, ": worker")
	refused("", ": worker")
	trust()
	if roles, err := allowedRoles(dir, home); err != nil || roles[crew.Worker].Model(0) != "a/theirs" || roles[crew.Fixer].Model(0) != "a/yours" {
		t.Errorf("%+v, %v", roles[crew.Worker], err)
	}
	// Another text, and the same text for a role for which it was not allowed.
	rolesIn(t, own, map[string]string{"worker": roleText(`"a/theirs", "a/more"`)})
	refused(home, ": worker")
	trust()
	rolesIn(t, own, map[string]string{"reviewer": roleText(`"a/theirs"`), "librarian": roleText(`"a/theirs"`)})
	refused(home, ": librarian, reviewer")
	trust()
}

// A file that cannot be a role is an error that names it, and makes no one wait.
func TestFilesThatAreNoRoles(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(file string) error{
		"no TOML":      func(file string) error { return os.WriteFile(file, []byte("tier = "), 0o644) },
		"empty":        func(file string) error { return os.WriteFile(file, nil, 0o644) },
		"huge":         func(file string) error { return os.WriteFile(file, make([]byte, 1<<20), 0o644) },
		"broken UTF-8": func(file string) error { return os.WriteFile(file, []byte("about = \"\xff\""), 0o644) },
		"no tool": func(file string) error {
			return os.WriteFile(file, []byte(strings.Replace(roleText(""), "read", "sudo", 1)), 0o644)
		},
		"a field":     func(file string) error { return os.WriteFile(file, []byte(roleText("")+"shell = true\n"), 0o644) },
		"a directory": func(file string) error { return os.Mkdir(file, 0o755) },
		"a link out":  func(file string) error { return os.Symlink("/etc/passwd", file) },
		"a pipe":      func(file string) error { return syscall.Mkfifo(file, 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			rolesIn(t, filepath.Join(dir, rolesDir), nil)
			if err := put(filepath.Join(dir, rolesDir, "worker.toml")); err != nil {
				t.Fatal(err)
			}
			roles, err := LoadRoles(dir, "")
			var wrong *fault.Error
			if !errors.As(err, &wrong) || wrong.Exit != run.ExitUsage || !strings.Contains(err.Error(), "worker.toml") || !strings.Contains(wrong.Next, rolesDir) {
				t.Errorf("%+v, %v", roles[crew.Worker], err)
			}
		})
	}
}

// A file that is not named after a role does not prevent planning: its place is reported before anything is done.
func TestARoleThatIsNoneIsTold(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), filepath.Join(t.TempDir(), "agent", "config.toml")
	rolesIn(t, filepath.Join(dir, rolesDir), map[string]string{"workr": "tier = "})
	rolesIn(t, UserRoles(home), map[string]string{"fixr": roleText("")})
	db, _ := storetest.New(t)
	set := config.Settings{}
	for _, v := range config.Table() {
		set[v.Name] = config.Value{Text: v.Default}
	}
	set["workspace"], set["mode"], set["model"] = config.Value{Text: dir}, config.Value{Text: "question"}, config.Value{Text: "ollama/first", Origin: "a test"}
	b, err := (&Session{DB: db, home: home, Builder: &images.Builder{}}).PlanBuilder(set)
	if err != nil {
		t.Fatal(err)
	}
	told := strings.Join(b.Notices, "\n")
	for _, want := range []string{"workr.toml in .agent/roles is ignored: it is not named after a role; the roles are planner, lead", "fixr.toml in your own roles is ignored"} {
		if !strings.Contains(told, want) {
			t.Errorf("%q is not told:\n%s", want, told)
		}
	}
}

func TestWhoWorks(t *testing.T) {
	t.Parallel()
	for owner, want := range map[string]bool{"": false, "nobody": false, sandbox.Owner(): true, "\x00": false} {
		if got := OwnerAlive(owner); got != want {
			t.Errorf("%q works: %v", owner, got)
		}
	}
}

// A try asks the model of its role. All tries that ask one model share a chain, whose caps apply to them together.
func TestARoleAsksItsOwnModel(t *testing.T) {
	t.Parallel()
	base := config.Settings{}
	for _, v := range config.Table() {
		base[v.Name] = config.Value{Text: v.Default}
	}
	base["model"] = config.Value{Text: "ollama/first", Origin: "a test"}
	db, _ := storetest.New(t)
	team := &team{Session: &Session{DB: db}, set: base, chains: map[string]*llm.Chain{}}
	strong := crew.Role{Name: "worker", Models: []string{"ollama/small", "ollama/large"}}
	chains := map[string]*llm.Chain{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 8 {
		for _, c := range []struct {
			role crew.Role
			try  int
			want string
		}{{crew.Role{Name: "lead"}, 0, "ollama/first"}, {crew.Role{Name: "lead"}, 5, "ollama/first"}, {strong, 0, "ollama/small"}, {strong, 1, "ollama/large"}, {strong, 9, "ollama/large"}} {
			all.Go(func() {
				set, chain, err := team.as(c.role, c.try)
				mu.Lock()
				defer mu.Unlock()
				if err != nil || set["model"].Text != c.want || chain == nil || chains[c.want] != nil && chains[c.want] != chain {
					t.Errorf("%s at try %d asks %s: %v", c.role.Name, c.try, set["model"].Text, err)
				}
				chains[c.want] = chain
			})
		}
	}
	all.Wait()
	if len(team.chains) != 3 || base["model"].Text != "ollama/first" {
		t.Errorf("%d chains; the settings name %s", len(team.chains), base["model"].Text)
	}
	for _, model := range []string{"nobody/x", "/", "\x00"} {
		if _, _, err := team.as(crew.Role{Name: "worker", Models: []string{model}}, 0); err == nil {
			t.Errorf("%q is a model", model)
		}
	}
}

// A result of a plan's task that passed is reviewed by the configured critics, as in a run without a plan.
func TestTasksOfAPlanHaveTheCritics(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	for name, want := range map[string]int{"": 0, "ollama/judge": 1} {
		set := config.Settings{}
		for _, v := range config.Table() {
			set[v.Name] = config.Value{Text: v.Default}
		}
		dir := t.TempDir()
		set["workspace"], set["mode"] = config.Value{Text: dir}, config.Value{Text: "question"}
		set["model"], set["critic"] = config.Value{Text: "ollama/first", Origin: "a test"}, config.Value{Text: name, Origin: "a test"}
		s := &Session{DB: db, home: filepath.Join(dir, "config.toml"), Builder: &images.Builder{}}
		b, err := s.PlanBuilder(set)
		if err != nil {
			t.Fatal(err)
		}
		c, err := b.Crew(builder.Attempt{ID: "01attempt", Fence: "5f3c9a0e7b1d2468"}, b.Roles[crew.Worker], func(agent.Progress) {})
		if err != nil || len(c.Critics.Members) != want {
			t.Errorf("%q: %d critics, %v", name, len(c.Critics.Members), err)
		}
	}
}
