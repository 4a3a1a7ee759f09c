// Package doctor implements `agent doctor`, which checks whether everything a run needs is available, and gives a
// remedy for what is not.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	imagescmd "agent/cmd/agent/internal/command/images"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/images"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/sandbox"
	"agent/sandbox/workspace/lazyregexp"
)

type command struct{ *cmdline.Line }

// The results of a check. With something missing, the main job does not work.
const (
	OK   = "ok"
	Warn = "warn"
	Miss = "miss"
)

// A Check is one line of the doctor.
//
//	ok   engine     Docker 28.5.2, API 1.51, 8 CPUs, 31.0 GiB memory
//	warn runc       1.1.5 is older than the fixes of CVE-2024-21626
//	                → upgrade runc to 1.2.8, 1.3.3 or later
type Check struct {
	Name   string `json:"name"`
	Status string `json:"status"` // ok, warn or miss
	Detail string `json:"detail"`
	Cure   string `json:"cure,omitempty"`
}

// Command returns the command that checks whether everything a run needs is available.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "doctor", Usage: "check that everything a run needs is available",
		Description: "Each line is ok, warn (it works, with a caveat) or miss (it does not work), with the remedy.\n" +
			"The exit code is 3 if something is missing.\n\n" +
			cmdline.Examples("agent doctor", "before the first run, or when one ended with exit code 3",
				"agent doctor --security", "which protections boxes on this machine enforce, tested in one"),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "security", Usage: "show which protections boxes on this machine enforce, and which they do not"},
			cmdline.JSONFlag(cmdline.Document[[]Check]("checks", 1)),
		},
		Action: func(ctx *cli.Context) error {
			set, err := config.Load(ctx, c.Getenv)
			if err != nil {
				return err
			}
			checks := c.examine(ctx.Context, set, ctx.Bool("security"))
			if err := c.printChecks(checks, set.On("json")); err != nil {
				return err
			}
			// A warning does not fail a script: the main job works.
			for _, ch := range checks {
				if ch.Status == Miss {
					return fault.Reported{Exit: run.ExitInfra}
				}
			}
			return nil
		},
	}
}

// examine makes every check. It skips a check that depends on something missing: its remedy would not help.
func (c command) examine(ctx context.Context, set config.Settings, security bool) []Check {
	// What the agent itself provides comes first, then the engine, then what lives on the engine.
	checks := []Check{checkGuest(c.Guest()), checkGit(ctx)}
	engine, err := sandbox.Connect(ctx)
	switch {
	case err != nil:
		checks = append(checks, missing(ctx, "engine", err))
	default:
		defer engine.Close() // idle connections: nothing to lose
		if !security {
			checks = append(checks, checkEngine(ctx, engine)...)
		}
	}
	// The toolchain's specification includes the guest, so without one no image can be recognized as the right one.
	var builder *images.Builder
	if guest, err := c.Guest(); err == nil && engine != nil {
		builder = images.New(engine, guest, nil)
		if security {
			return append(checks, examineSecurity(ctx, set, engine, builder)...)
		}
		checks = append(checks, checkImages(ctx, builder)...)
	}
	if security {
		return checks
	}
	checks = append(checks, c.checkDatabase(ctx, set, engine, builder)...)
	return append(append(checks, CheckModels(set), checkEgress(set)), checkRoles(set["workspace"].Text, config.UserPath(c.Getenv))...)
}

// checkRoles reports role files that prevent plans from being made, or that change nothing. It returns no check if all is well.
func checkRoles(dir, home string) (checks []Check) {
	roles, err := wire.LoadRoles(dir, home)
	if err != nil {
		return []Check{{"roles", Warn, err.Error(), "plans need them: `agent roles`"}}
	}
	strange, err := wire.StrangeRoles(roles, dir, home)
	if err != nil {
		strange = []string{err.Error()}
	}
	for _, line := range strange {
		checks = append(checks, Check{"roles", Warn, line, "rename that file, or remove it"})
	}
	return checks
}

// checkEgress reports what the programs in boxes may reach.
func checkEgress(set config.Settings) Check {
	if allowed := config.ParseList(set["egress.allow"].Text); len(allowed) > 0 {
		return Check{"egress", OK, "boxes reach " + strings.Join(allowed, ", ") + ": " + set["egress.allow"].Origin, ""}
	}
	return Check{"egress", OK, "none: boxes have no network", ""}
}

// missing returns the check for something that does not work, with the remedy that the error names.
func missing(ctx context.Context, name string, err error) Check {
	p, _ := fault.Classify(ctx, err)
	return Check{name, Miss, p.Message, p.Next}
}

// checkGuest reports whether the program that is PID 1 of every box exists.
func checkGuest(guest []byte, err error) Check {
	if err != nil {
		return Check{"guest", Miss, err.Error(), "install a released program, or build it with `make build`, which embeds the guest"}
	}
	return Check{"guest", OK, "sandbox helper: embedded", ""}
}

// checkGit looks for the git program, which determines the ignored files.
func checkGit(ctx context.Context) Check {
	// A git that hangs, on a home directory that went away, must not hang the doctor.
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	// It only asks for the version: that reads no repository's configuration.
	out, err := exec.CommandContext(ctx, "git", "version").Output()
	if err != nil {
		return Check{
			"git", Warn, "the git program does not run: " + err.Error(),
			"install git, so that snapshots leave out the files that git ignores",
		}
	}
	return Check{"git", OK, strings.TrimSpace(strings.TrimPrefix(string(out), "git version ")), ""}
}

// checkEngine checks the engine and what it builds on.
func checkEngine(ctx context.Context, engine *sandbox.Engine) []Check {
	// The engine answered a moment ago, so it is about to go away.
	info, err := engine.Info(ctx)
	if err != nil {
		return []Check{missing(ctx, "engine", err)}
	}
	return []Check{
		{"engine", OK, fmt.Sprintf("Docker %s, API %s, %d CPUs, %s memory", info.Version, info.APIVersion, info.NCPU, gib(info.Memory)), ""},
		checkRunc(info.RuncVersion),
		checkStorage(info),
		checkQuotas(info),
		checkCgroups(info.CgroupVersion),
		checkRuntimes(info.Runtimes),
	}
}

// A hole is a known vulnerability of runc that lets a program out of its container.
type hole struct {
	name  string
	fixed []string // the first release of each line with the fix
}

// holes lists the holes that matter to a box, the newest first. Versions are from runc's own release notes.
func holes() []hole {
	return []hole{
		{"CVE-2025-31133, CVE-2025-52565, CVE-2025-52881", []string{"1.2.8", "1.3.3"}},
		{"CVE-2024-21626", []string{"1.1.12"}},
	}
}

// checkRunc compares the version of runc with the fixes. A distribution may have backported a fix to an older version,
// which the number alone does not show. It therefore warns and does not report a miss.
func checkRunc(version string) Check {
	have := parseVersion(version)
	if have == nil {
		return Check{"runc", Warn, "version not known: " + version, "make sure that it is 1.2.8, 1.3.3 or later"}
	}
	// Named by their numbers, which is what people search for.
	var open []string
	for _, h := range holes() {
		if !h.fixedIn(have) {
			open = append(open, h.name)
		}
	}
	if len(open) == 0 {
		return Check{"runc", OK, version, ""}
	}
	return Check{
		"runc", Warn, version + " is older than the fixes of " + strings.Join(open, "; "),
		"upgrade runc to 1.2.8, 1.3.3 or later, unless your distribution backported the fixes",
	}
}

// fixedIn reports whether version have includes the fix: it is at least the fixed release of its own line, or belongs
// to a later line than all of them.
func (h hole) fixedIn(have []int) bool {
	// A line of releases with a backported fix counts from that release on.
	for _, text := range h.fixed {
		first := parseVersion(text)
		if have[0] == first[0] && have[1] == first[1] {
			return have[2] >= first[2]
		}
	}
	// Lines after the last one named had the fix from the start.
	last := parseVersion(h.fixed[len(h.fixed)-1])
	return have[0] > last[0] || have[0] == last[0] && have[1] > last[1]
}

// versionNumber finds the three numbers of a version such as "1.1.5+ds1".
var versionNumber = lazyregexp.New(`(\d+)\.(\d+)\.(\d+)`)

// parseVersion returns the three numbers of a version, or nil if there are none. Anything after them, such as a
// distribution's suffix, says nothing about upstream's fixes.
func parseVersion(text string) []int {
	m := versionNumber.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	numbers := make([]int, 3)
	for i := range numbers {
		n, err := strconv.Atoi(m[i+1])
		if err != nil {
			return nil
		}
		numbers[i] = n
	}
	return numbers
}

// The free space of the engine below which the doctor warns, and below which building the images would fill the disk.
const (
	littleSpace = 5 << 30
	noSpace     = 512 << 20
)

// checkStorage checks the space for images and boxes. A toolchain image takes about half a GiB; snapshots share it.
func checkStorage(info sandbox.Info) Check {
	// A remote engine's disk cannot be examined from here.
	ch := Check{Name: "storage", Status: OK, Detail: info.StorageDriver}
	if info.FreeBytes < 0 {
		ch.Detail += ", free space not known: the engine is remote"
	} else {
		ch.Detail += fmt.Sprintf(", %s free in %s", gib(info.FreeBytes), info.Root)
	}
	switch {
	case info.FreeBytes >= 0 && info.FreeBytes < noSpace:
		ch.Status, ch.Cure = Miss, "free space there: `agent sandbox gc`, `agent images prune`"
	case info.FreeBytes >= 0 && info.FreeBytes < littleSpace:
		ch.Status, ch.Cure = Warn, "free space there: `agent sandbox gc`, `agent images prune`"
	case info.StorageDriver == "vfs":
		ch.Status, ch.Cure = Warn, "use overlay2: vfs copies every image for every box"
	}
	return ch
}

// checkQuotas says whether the engine could limit what a container writes to its own layer, which Docker can do only on
// a few file systems. A box does not need that.
func checkQuotas(info sandbox.Info) Check {
	has := "none for container layers on " + strings.TrimSpace(info.StorageDriver+" "+info.BackingFilesystem)
	switch {
	case info.StorageDriver == "btrfs", info.StorageDriver == "zfs":
		has = "for container layers"
	case info.StorageDriver == "overlay2" && info.BackingFilesystem == "xfs":
		has = "for container layers, if xfs is mounted with pquota"
	}
	return Check{"quotas", OK, has + "; not needed: a box writes only to tmpfs, which enforces its limits", ""}
}

// checkCgroups checks for the kernel's means to limit a box. Without them the engine ignores limits, and a box is
// refused.
func checkCgroups(version string) Check {
	switch version {
	case "1", "2":
		return Check{"cgroups", OK, "version " + version, ""}
	}
	return Check{"cgroups", Warn, "version not known: " + version, "make sure that the engine can limit memory and processes"}
}

// checkRuntimes says whether boxes could have a kernel of their own. Sharing the host's is the ordinary case and not a
// fault.
func checkRuntimes(runtimes []string) Check {
	for _, r := range runtimes {
		if strings.Contains(r, "runsc") {
			return Check{"runtimes", OK, strings.Join(runtimes, ", ") + "; AGENT_RUNTIME=" + r + " gives each box its own kernel, " +
				"which does not limit the number of files in /work, and ends if a program reaches another limit", ""}
		}
	}
	return Check{"runtimes", OK, strings.Join(runtimes, ", ") + "; boxes share the host's kernel: to give each its own, install gVisor's runsc, " +
		"name it under runtimes in the engine's daemon.json with runtimeArgs [\"--oci-seccomp\"], and set AGENT_RUNTIME=runsc", ""}
}

// checkImages looks for the images. An absent one is built on demand.
func checkImages(ctx context.Context, builder *images.Builder) []Check {
	var checks []Check
	for _, name := range imagescmd.Names() {
		img, err := builder.Find(ctx, name)
		// Absent is not missing: the next run builds it and only takes longer.
		switch {
		case errors.Is(err, images.ErrAbsent):
			checks = append(checks, Check{name, Warn, "not built yet", "`agent images build`, or the next run builds it"})
		case err != nil:
			checks = append(checks, missing(ctx, name, err))
		default:
			checks = append(checks, Check{name, OK, img.Ref + ": " + imagescmd.Versions(img.Versions), ""})
		}
	}
	return checks
}

// checkDatabase opens the record. It starts the agent's own Postgres for that, if its image exists.
func (c command) checkDatabase(ctx context.Context, set config.Settings, engine *sandbox.Engine, builder *images.Builder) []Check {
	const name = "database"
	url, own := set["database_url"].Text, false
	// Examining the agent's own Postgres means starting it, which every other command does too.
	if url == "" {
		if engine == nil || builder == nil {
			return nil // reported already
		}
		image, err := builder.Find(ctx, images.Postgres)
		if errors.Is(err, images.ErrAbsent) {
			return []Check{{name, Warn, "the image of the agent's own Postgres is not built yet", "`agent db up`, or the next run starts it"}}
		}
		if err == nil {
			url, err = engine.Postgres(ctx, image.ID)
		}
		if err != nil {
			return []Check{missing(ctx, name, err)}
		}
		own = true
	}
	// The database is opened as by every command, so the doctor finds what they will find.
	db, err := store.Open(ctx, url, wire.Waiting(c.Stderr))
	if err != nil {
		return []Check{missing(ctx, name, err)}
	}
	defer db.Close()
	version, err := db.Version(ctx)
	if err != nil {
		return []Check{missing(ctx, name, err)}
	}
	detail := fmt.Sprintf("%s, schema version %d", db.Address(), version)
	if own {
		detail += ", the agent's own"
	}
	return []Check{{name, OK, detail, ""}}
}

// narrowest is the minimum width of the column of names.
const narrowest = 10

// printChecks prints one line per check, and the remedy below it.
func (c command) printChecks(checks []Check, asJSON bool) error {
	if asJSON {
		return term.PrintJSON(c.Stdout, checks)
	}
	pal := c.Palette(c.Stdout)
	paint := map[string]func(string) string{OK: pal.Good, Warn: pal.Warn, Miss: pal.Bad}
	width := narrowest
	for _, ch := range checks {
		width = max(width, len(ch.Name))
	}
	// On a terminal the text is broken at words, below its column; for programs a check is one line.
	fit := func(text string, _ int) string { return text }
	if term.Terminal(c.Stdout) != nil {
		columns, _ := c.Size(c.Stdout)
		fit = func(text string, indent int) string { return term.Fill(text, columns, indent) }
	}
	return term.Print(c.Stdout, func(w io.Writer) error {
		indent := len("miss ") + width + len(" ")
		for _, ch := range checks {
			fmt.Fprintf(w, "%s %-*s %s\n", paint[ch.Status](fmt.Sprintf("%-4s", ch.Status)), width, ch.Name, fit(term.CleanLine(ch.Detail), indent))
			if ch.Cure != "" {
				fmt.Fprintf(w, "%*s→ %s\n", indent, "", fit(term.Clean(ch.Cure), indent+len("- ")))
			}
		}
		fmt.Fprintln(w, fit(conclude(checks), 0))
		return nil
	})
}

// conclude returns the last line: whether a run works here.
func conclude(checks []Check) string {
	named := map[string][]string{}
	for _, ch := range checks {
		named[ch.Status] = append(named[ch.Status], ch.Name)
	}
	switch miss, warn := named[Miss], named[Warn]; {
	case len(miss) > 0:
		return fmt.Sprintf("not ready: %s; follow the arrows above, then run `agent doctor` again", strings.Join(miss, ", "))
	case len(warn) > 0:
		return fmt.Sprintf("works: with a warning about %s", strings.Join(warn, ", "))
	}
	return "ready: everything that a run needs is available"
}

// gib formats bytes in GiB.
func gib(bytes int64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)) }

// CheckModels returns the doctor's line about models. Without a model nothing is missing for the main job: a patch
// needs none.
func CheckModels(set config.Settings) Check {
	const name = "models"
	text, err := wire.DescribeModels(set)
	// At most a warning: the main job, with a patch, works without a model.
	var f *fault.Error
	switch {
	case errors.As(err, &f):
		return Check{name, Warn, f.Error(), f.Next}
	case err != nil:
		return Check{name, Warn, err.Error(), "fix that value"}
	case !wire.AnyModelConfigured(set):
		return Check{name, Warn, "no model configured; default: " + text, wire.ModelSetup() + "; runs with a patch need neither"}
	}
	return Check{name, OK, text + "; not asked", ""}
}
